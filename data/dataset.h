// SPDX-License-Identifier: Apache-2.0
// Labelled images for classification. A dataset maps an image number and, for augmentation, a draw
// number to an image. lockstep/loader.h decides which images are read when.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/augment/augment.h"
#include "data/transform.h"

namespace lockstep {

class Dataset {
 public:
  explicit Dataset(Preparation preparation) : preparation_(std::move(preparation)) {}
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual int64_t classes() const = 0;
  // Writes image `index`, channels x height x width values, and its label. Augmentation depends on
  // (seed, draw) alone. In training every draw has its own number. Thread-safe. The default
  // normalises read_bytes().
  virtual void read(int64_t index, uint64_t draw, float* image, int64_t* label) const;
  // Writes the image before normalisation, if the set has bytes.
  virtual void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const;

  virtual std::string class_name(int64_t label) const { return std::to_string(label); }
  // Throws an error with the file's name if the file of image `index` has no valid picture header.
  // Thread-safe.
  virtual void look_at_header(int64_t) const {}
  virtual bool has_headers() const { return false; }

  // Identifies the set's files: "12 pictures, 0123456789abcdef"; "": no files.
  virtual std::string digest() const { return ""; }
  virtual int64_t classes_with_images() const { return classes(); }
  // A line about files that are not read; "" if there are none.
  virtual std::string left_out() const { return ""; }

  // The preparation of the set's images, which prediction applies to other images.
  const Preparation& preparation() const { return preparation_; }
  int64_t channels() const { return preparation_.channels; }
  int64_t height() const { return preparation_.height; }
  int64_t width() const { return preparation_.width; }
  int64_t image_values() const { return preparation_.values(); }

 private:
  Preparation preparation_;
};

struct DatasetOptions {
  std::string name = "digits";
  std::string root = "";  // folder of the files, for sets with files
  int64_t size = 10000;   // number of images of generated sets
  uint64_t seed = 1;
  bool held_out = false;  // images outside the training set of the same seed
  int64_t classes = 10;   // synthetic only; other sets have fixed classes

  // image_folder and synthetic
  int64_t image_size = 224;
  int64_t resize = 256;  // held out: length of the shorter side before the centre crop
  std::array<double, 2> scale{0.08, 1};  // training: fraction of the image's area
  bool flip = true;                      // training: half of the images are mirrored

  Augmentation augmentation = {};  // training: of sets with bytes
};
// Throws for an unknown name. The error lists the known names.
std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options);
std::vector<std::string> dataset_names();
// True if the data set is read from files below DatasetOptions::root.
bool has_files(const DatasetOptions& options);
// Returns "3 classes: a, b, c".
std::string names_of_classes(const Dataset& data);

// The preparation of a set's images, without reading files.
Preparation preparation_of(const DatasetOptions& options);
// True if the set's images can be read as bytes.
bool has_bytes(const DatasetOptions& options);
// The kind of pictures that opening the data set generates, which may take seconds; "" for other
// sets.
std::string generated_by(const DatasetOptions& options);

}  // namespace lockstep
