// SPDX-License-Identifier: Apache-2.0
// The order in which training visits the examples of a set.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lockstep {

// Each epoch is a permutation that depends on (seed, epoch) alone, so any step can be reached
// directly. Without shuffling each epoch has the set's order.
class EpochOrder {
 public:
  EpochOrder(int64_t size, uint64_t seed, bool shuffles = true)
      : size_(size), seed_(seed), shuffles_(shuffles) {}
  // `position` counts examples from the start of training. Thread-safe.
  int64_t at(int64_t position) const;

 private:
  struct Epoch {
    int64_t number = -1;
    std::vector<int32_t> order;
  };
  int64_t size_;
  uint64_t seed_;
  bool shuffles_;
  mutable std::mutex mutex_;
  mutable std::array<Epoch, 2> epochs_;  // steps read ahead may be in the next epoch
};

}  // namespace lockstep
