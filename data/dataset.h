// Labelled images for classification. A dataset is a function of the number of an image and, for
// augmentation, of the number of a draw; who reads which when is the business of data/loader.h.
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
  // depends on (seed, draw) alone; in training every image drawn has its own number. Thread-safe.
  virtual void read(int64_t index, uint64_t draw, float* image, int64_t* label) const = 0;

  virtual std::string class_name(int64_t label) const { return std::to_string(label); }

  // What its images went through, and what another picture goes through to be like them.
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
  std::string root = "";  // folder of the files, for those that have files
  int64_t size = 10000;   // of generated sets
  uint64_t seed = 1;
  bool held_out = false;  // examples that the training set of the same seed does not have
  int64_t classes = 10;   // synthetic: how many; others know

  // image_folder and synthetic
  int64_t image_size = 224;
  int64_t resize = 256;                  // held out: the shorter side before the middle is cut out
  std::array<double, 2> scale{0.08, 1};  // training: share of the picture's area
  bool flip = true;                      // training: half of the images are mirrored
};
// Throws with the known names.
std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options);
std::vector<std::string> dataset_names();

struct ImageSize {
  int64_t channels, height, width;
};
// What the images of a set measure; needs none of its files.
ImageSize image_size_of(const DatasetOptions& options);

}  // namespace lockstep
