// SPDX-License-Identifier: Apache-2.0
// A set of pictures with annotations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/coco/annotations.h"
#include "data/image.h"
#include "data/scenes/scenes.h"

namespace lockstep {

class PictureSet {
 public:
  virtual ~PictureSet() = default;
  virtual const Annotations& annotations() const = 0;
  // Thread-safe. Throws an error with the picture's name if the picture cannot be read or has
  // another size than annotated.
  virtual Image picture(std::size_t number) const = 0;
  // Throws if the header of the picture's file already shows that picture() would throw. A header
  // may lack the orientation. Thread-safe.
  virtual void look_at_header(std::size_t) const {}
  virtual bool has_headers() const { return false; }
  // The picture's name in errors: "a.json: image 7".
  virtual std::string name_of(std::size_t number) const;
  // Moves the annotations into a joined set, so that no table is in memory twice. Only picture()
  // and name_of() may be called afterwards.
  virtual Annotations take_annotations() { return annotations(); }
};

// The proposals of a picture of a set, best first.
using PictureProposals = std::function<std::vector<Corners>(std::size_t picture)>;

class FilePictures final : public PictureSet {
 public:
  // `turned`: turns a picture by its EXIF block if the annotated size fits the stored and the
  // turned picture.
  FilePictures(std::string folder, Annotations annotations, bool turned = true)
      : folder_(std::move(folder)), annotations_(std::move(annotations)), turned_(turned) {}
  const Annotations& annotations() const override { return annotations_; }
  Image picture(std::size_t number) const override;
  void look_at_header(std::size_t number) const override;
  bool has_headers() const override { return true; }
  Annotations take_annotations() override;

 private:
  std::string path_of(std::size_t number) const;
  [[noreturn]] void refuse(std::size_t number, const std::string& why) const;
  [[noreturn]] void refuse_size(std::size_t number, int64_t height, int64_t width,
                                const char* note = "") const;

  std::string folder_;
  Annotations annotations_;
  bool turned_;
};

class ScenePictures final : public PictureSet {
 public:
  explicit ScenePictures(const SceneOptions& options) : scenes_(options) {}
  const Annotations& annotations() const override { return scenes_.annotations(); }
  Image picture(std::size_t number) const override { return scenes_.picture(number); }

 private:
  Scenes scenes_;
};

}  // namespace lockstep
