// SPDX-License-Identifier: Apache-2.0
// The pictures of each training step. The pictures of a step are of one group, since they are
// padded to one shape; groups are those of padded_shapes.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep {

struct OrderOptions {
  int64_t batch = 1;      // pictures of a step, over all replicas and processes
  bool mirrored = false;  // an epoch has every picture twice, as it is and mirrored
  uint64_t seed = 1;
};

struct OrderedPicture {
  int32_t picture = 0;
  bool mirrored = false;
  friend bool operator==(const OrderedPicture&, const OrderedPicture&) = default;
};

// A function of the seed and the step's number: any step is reached directly. An epoch is a
// permutation of the pictures; each waits in its group until a step is full. Those that wait at the
// end of an epoch come first in the next one, so none is left out or comes twice.
class PictureOrder {
 public:
  // `groups`: of each picture.
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
  std::vector<int64_t> counts_;  // of the entries of an epoch, by group
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Epoch> last_;
};

}  // namespace lockstep
