// SPDX-License-Identifier: Apache-2.0
// The pictures of each training step. The pictures of a step are from one group of padded_shapes.h,
// because they are padded to one shape.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep {

struct OrderOptions {
  int64_t batch = 1;      // pictures of a step, over all replicas and processes
  bool mirrored = false;  // an epoch has every picture twice, once mirrored
  uint64_t seed = 1;
};

struct OrderedPicture {
  int32_t picture = 0;
  bool mirrored = false;
  friend bool operator==(const OrderedPicture&, const OrderedPicture&) = default;
};

// A function of the seed and the step's number, so any step is reached directly. An epoch is a
// permutation of the pictures. Each picture waits in its group until the group has enough for a
// step. Pictures still waiting at the end of an epoch come first in the next epoch, so no picture
// is omitted or repeated.
class PictureOrder {
 public:
  // `groups` has the group of each picture.
  PictureOrder(std::vector<int32_t> groups, const OrderOptions& options);

  struct Step {
    int32_t group = 0;
    std::vector<OrderedPicture> pictures;
  };
  Step step(int64_t number) const;  // from 0; thread-safe

  int64_t epoch_of(int64_t step) const;
  int64_t first_step_of(int64_t epoch) const;

 private:
  struct Epoch {
    int64_t number = -1;
    std::vector<Step> steps;
  };
  std::vector<OrderedPicture> permutation(int64_t epoch) const;
  std::vector<OrderedPicture> waiting(int32_t group, int64_t epoch) const;
  std::shared_ptr<const Epoch> make(int64_t number) const;

  std::vector<int32_t> groups_;
  OrderOptions options_;
  std::vector<int64_t> counts_;  // number of entries in an epoch, by group
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Epoch> last_;
};

}  // namespace lockstep
