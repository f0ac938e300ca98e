// SPDX-License-Identifier: Apache-2.0
// Images in folders: ROOT/train/CLASS/NAME.jpg, and held-out images ROOT/val/CLASS/NAME.png.
// Classes are the names of folders, in byte order. Folders below a class are not read.
#pragma once

#include "data/dataset.h"
#include "data/picture_folder.h"

namespace lockstep {

Preparation image_folder_preparation(const DatasetOptions& options);

class ImageFolder final : public Dataset {
 public:
  explicit ImageFolder(const DatasetOptions& options);

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t classes() const override { return static_cast<int64_t>(class_names_.size()); }
  std::string class_name(int64_t label) const override { return class_names_[label]; }
  void look_at_header(int64_t index) const override { read_picture_header(files_[index].path); }
  bool has_headers() const override { return true; }
  // Digests the names of classes and pictures, not the content of pictures.
  std::string digest() const override;
  int64_t classes_with_images() const override { return classes_with_images_; }
  std::string left_out() const override;
  void read(int64_t index, uint64_t draw, float* image, int64_t* label) const override;
  // Rounds pixels after resampling. A region that is not scaled has the file's pixels.
  void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const override;

 private:
  template <class T>
  void read_as(int64_t index, uint64_t draw, T* image, int64_t* label) const;

  struct File {
    std::string path;
    int64_t label;
  };

  DatasetOptions options_;
  std::vector<std::string> class_names_;
  std::vector<File> files_;
  std::string folder_;  // folder of the classes
  LeftOutFiles left_out_;
  int64_t classes_with_images_ = 0;
};

}  // namespace lockstep
