// Batches ahead of time. What is in a batch is a function of (seed, step); how many threads read,
// and which image each takes, changes nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

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

struct Batch {
  std::vector<float> images;
  std::vector<int64_t> labels;
};

struct LoaderOptions {
  int64_t batch = 64;
  // Of each batch only this part is read: one process's share.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;  // false: in the data set's order, round and round
  int threads = 1;
};

class Loader {
 public:
  // `dataset` must outlive the loader.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;

  // The batch of training step `step`, valid until the next call. Steps in ascending order come
  // from batches read ahead; any other starts anew there. Throws what reading an image threw.
  const Batch& get(int64_t step);

 private:
  void end_threads();
  struct Slot {
    Batch batch;
    int64_t left = 0;  // images still to be read
    std::exception_ptr error;
  };
  static constexpr int64_t kAhead = 3;  // batches: one in use, the others in the making

  void work();
  void seek(int64_t step, std::unique_lock<std::mutex>& lock);
  Slot& slot(int64_t step) { return slots_[static_cast<std::size_t>(step % kAhead)]; }

  const Dataset& dataset_;
  LoaderOptions options_;
  EpochOrder order_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable may_read_, batch_done_;
  int64_t in_use_ = -1;    // the step whose batch the caller has
  int64_t next_step_ = 0;  // what the next free thread reads: image next_image_ of it
  int64_t next_image_ = 0;
  int64_t reading_ = 0;  // threads with an image in hand
  bool paused_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
