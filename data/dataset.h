// SPDX-License-Identifier: Apache-2.0
// Labelled images for classification. A dataset maps the number of an image and, for augmentation,
// the number of a draw to an image; data/loader.h decides which images are read when.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/transform.h"

namespace lockstep {

class Dataset {
 public:
  explicit Dataset(Preparation preparation) : preparation_(std::move(preparation)) {}
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual int64_t classes() const = 0;
  // Writes image `index`, channels x height x width values, and its label. Augmentation, if any,
  // depends on (seed, draw) alone; in training every draw has its own number. Thread-safe. Here:
  // the bytes, normalised.
  virtual void read(int64_t index, uint64_t draw, float* image, int64_t* label) const;
  // The same before normalisation, if the set has bytes.
  virtual void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const;

  virtual std::string class_name(int64_t label) const { return std::to_string(label); }
  // Throws naming the file of image `index` if it has none of a picture's headers. Thread-safe.
  virtual void look_at_header(int64_t) const {}
  virtual bool has_headers() const { return false; }

  // Tells the set's files from others: "12 pictures, 0123456789abcdef"; "": it has no files.
  virtual std::string digest() const { return ""; }
  virtual int64_t classes_with_images() const { return classes(); }
  // A line about files that are not read; "": there are none.
  virtual std::string left_out() const { return ""; }

  // The preparation of its images, to apply to other images as well.
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
  int64_t size = 10000;   // of generated sets
  uint64_t seed = 1;
  bool held_out = false;  // examples outside the training set of the same seed
  int64_t classes = 10;   // synthetic only; other sets know theirs

  // image_folder and synthetic
  int64_t image_size = 224;
  int64_t resize = 256;                  // held out: the shorter side before the centre crop
  std::array<double, 2> scale{0.08, 1};  // training: share of the image's area
  bool flip = true;                      // training: half of the images are mirrored
};
// Throws for an unknown name, listing the known ones.
std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options);
std::vector<std::string> dataset_names();
// True if the data set is read from files below DatasetOptions::root.
bool has_files(const DatasetOptions& options);
// "3 classes: a, b, c"
std::string names_of_classes(const Dataset& data);

// The preparation of a set's images, computed without its files.
Preparation preparation_of(const DatasetOptions& options);
// Whether its images can be read as bytes.
bool has_bytes(const DatasetOptions& options);
// Names the pictures that are generated when the data set is opened, which may take seconds; "" if
// none are.
std::string generated_by(const DatasetOptions& options);

}  // namespace lockstep
