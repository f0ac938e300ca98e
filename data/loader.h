// Batches read ahead. The contents of a batch depend on (seed, step) only, never on the number of
// threads or which image each reads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

// The order of examples: each epoch is a permutation that depends on (seed, epoch) alone, so any
// step can be reached without the ones before it.
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

struct Batch {
  std::vector<float> images;
  std::vector<int64_t> labels;
};

struct LoaderOptions {
  int64_t batch = 64;
  // The part of each batch to read: one process's share.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;  // false: in the data set's order, repeated
  int threads = 1;
};

class Loader {
 public:
  // `dataset` must outlive the loader.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;

  // The batch of training step `step`, valid until the next call. Ascending steps are read ahead;
  // any other step restarts reading there. Rethrows errors from reading an image.
  const Batch& get(int64_t step);

 private:
  void end_threads();
  struct Slot {
    Batch batch;
    int64_t left = 0;  // images still to be read
    std::exception_ptr error;
  };
  static constexpr int64_t kAhead = 3;  // batches: one in use, the others being read

  void work();
  void seek(int64_t step, std::unique_lock<std::mutex>& lock);
  Slot& slot(int64_t step) { return slots_[step % kAhead]; }

  const Dataset& dataset_;
  LoaderOptions options_;
  EpochOrder order_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable may_read_, batch_done_;
  int64_t in_use_ = -1;    // the step of the caller's batch
  int64_t next_step_ = 0;  // the next image to read: next_image_ of this step
  int64_t next_image_ = 0;
  int64_t reading_ = 0;  // threads reading an image
  bool paused_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
