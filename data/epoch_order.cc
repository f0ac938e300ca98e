// SPDX-License-Identifier: Apache-2.0
#include "data/epoch_order.h"

#include <numeric>

#include "data/streams.h"
#include "lockstep/random.h"

namespace lockstep {

int64_t EpochOrder::at(int64_t position) const {
  if (!shuffles_) return position % size_;
  const int64_t number = position / size_;
  const std::lock_guard lock(mutex_);
  Epoch& epoch = epochs_[number % 2];
  if (number != epoch.number) {
    std::vector<int32_t>& order = epoch.order;
    order.resize(size_);
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, seed_, streams::kEpochOrder + static_cast<uint64_t>(number));
    epoch.number = number;
  }
  return epoch.order[position % size_];
}

}  // namespace lockstep
