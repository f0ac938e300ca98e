// SPDX-License-Identifier: Apache-2.0
// Minibatches read ahead. What a minibatch contains depends on its source and step only, never on
// the number of threads or which item each reads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "data/minibatch.h"

namespace lockstep {

class Loader {
 public:
  // `source` must outlive the loader.
  Loader(const MinibatchSource& source, int threads);
  ~Loader();
  Loader(const Loader&) = delete;

  // The tensors of training step `step`, in the order of its form, valid until the next call.
  // Ascending steps are read ahead; any other step restarts reading there. Rethrows errors from
  // reading an item.
  std::span<const Tensor> get(int64_t step);
  // True if `step` follows the one that was got last and get() would not wait for it.
  bool is_ready(int64_t step);
  // The number of whole minibatches behind the one that was got last.
  int64_t queue();

 private:
  struct Slot {
    std::vector<std::vector<std::byte>> memory;  // of each tensor, in its largest form
    std::vector<std::vector<Tensor>> tensors;    // by form
    std::size_t form = 0;
    int64_t left = 0;  // items still to be read
    std::exception_ptr error;
  };
  static constexpr int64_t kAhead = 3;  // minibatches: one in use, the others being read

  void make_slots();
  void end_threads();
  void work();
  void seek(int64_t step, std::unique_lock<std::mutex>& lock);
  Slot& slot(int64_t step) { return slots_[step % kAhead]; }

  const MinibatchSource& source_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable may_read_, step_done_;
  int64_t in_use_ = -1;    // the step of the caller's minibatch
  int64_t next_step_ = 0;  // the next item to read: next_item_ of this step
  int64_t next_item_ = 0;
  int64_t reading_ = 0;  // threads reading an item
  bool paused_ = true;   // until the first get()
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
