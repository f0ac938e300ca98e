// Labelled images for classification. A dataset is a function of its number; a BatchSource turns it
// into an endless, seekable stream of batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual int64_t channels() const = 0;
  virtual int64_t height() const = 0;
  virtual int64_t width() const = 0;
  virtual int64_t classes() const = 0;
  // Writes image `index`, channels x height x width values, and its label. Thread-safe.
  virtual void read(int64_t index, float* image, int64_t* label) const = 0;

  int64_t image_values() const { return channels() * height() * width(); }
};

// Which example comes at which place: each epoch is a permutation that depends on (seed, epoch)
// alone, so any step can be reached without the ones before it.
class EpochOrder {
 public:
  EpochOrder(int64_t size, uint64_t seed) : size_(size), seed_(seed) {}
  int64_t at(int64_t position);  // position counts examples from the start of training

 private:
  int64_t size_;
  uint64_t seed_;
  int64_t epoch_ = -1;
  std::vector<int32_t> order_;
};

class BatchSource {
 public:
  BatchSource(const Dataset& dataset, int64_t batch, uint64_t seed);
  int64_t batch() const { return batch_; }
  // The batch of training step `step`: `batch` images and labels.
  void fill(int64_t step, float* images, int64_t* labels);

 private:
  const Dataset& dataset_;
  int64_t batch_;
  EpochOrder order_;
};

struct DatasetOptions {
  std::string name = "digits";
  int64_t size = 10000;
  uint64_t seed = 1;
  bool held_out = false;  // examples that the training set of the same seed does not have
};
// Throws with the known names.
std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options);

}  // namespace lockstep
