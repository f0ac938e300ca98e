// SPDX-License-Identifier: Apache-2.0
#include "data/detection/picture_order.h"

#include <algorithm>

#include "data/streams.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {

PictureOrder::PictureOrder(std::vector<int32_t> groups, const OrderOptions& options)
    : groups_(std::move(groups)), options_(options) {
  check(!groups_.empty(), "there is no picture to train on");
  check(options.batch >= 1, "a step has ", options.batch, " pictures, should have at least 1");
  counts_.resize(*std::max_element(groups_.begin(), groups_.end()) + 1);
  for (int32_t group : groups_) counts_[group] += options.mirrored ? 2 : 1;
}

// A group has `count` entries in each epoch, and makes a step as soon as `batch` entries are
// waiting.
int64_t PictureOrder::first_step_of(int64_t epoch) const {
  int64_t steps = 0;
  for (int64_t count : counts_) steps += epoch * count / options_.batch;
  return steps;
}

int64_t PictureOrder::epoch_of(int64_t step) const {
  int64_t low = 0, high = 1;
  while (first_step_of(high) <= step) high *= 2;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (first_step_of(middle) <= step ? low : high) = middle;
  }
  return low;
}

std::vector<OrderedPicture> PictureOrder::permutation(int64_t epoch) const {
  std::vector<OrderedPicture> entries;
  for (bool mirrored : {false, true}) {
    if (mirrored && !options_.mirrored) break;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      entries.push_back({static_cast<int32_t>(i), mirrored});
  }
  shuffle(entries, options_.seed, streams::kPictureOrder + static_cast<uint64_t>(epoch));
  return entries;
}

// The group's entries that remain from earlier epochs, in order. They are from the previous epoch,
// unless the group has fewer entries than a step.
std::vector<OrderedPicture> PictureOrder::waiting(int32_t group, int64_t epoch) const {
  const int64_t count = counts_[group];
  std::size_t left = epoch * count % options_.batch;
  std::vector<OrderedPicture> last_first;
  while (last_first.size() < left) {
    const std::vector<OrderedPicture> entries = permutation(--epoch);
    for (std::size_t i = entries.size(); i-- > 0 && last_first.size() < left;)
      if (groups_[entries[i].picture] == group) last_first.push_back(entries[i]);
  }
  return {last_first.rbegin(), last_first.rend()};
}

std::shared_ptr<const PictureOrder::Epoch> PictureOrder::make(int64_t number) const {
  auto epoch = std::make_shared<Epoch>();
  epoch->number = number;
  std::vector<std::vector<OrderedPicture>> queues;
  for (std::size_t group = 0; group < counts_.size(); ++group)
    queues.push_back(waiting(static_cast<int32_t>(group), number));
  for (const OrderedPicture& entry : permutation(number)) {
    const int32_t group = groups_[entry.picture];
    std::vector<OrderedPicture>& queue = queues[group];
    queue.push_back(entry);
    if (static_cast<int64_t>(queue.size()) < options_.batch) continue;
    epoch->steps.push_back({group, std::move(queue)});
    queue = {};
  }
  return epoch;
}

PictureOrder::Step PictureOrder::step(int64_t number) const {
  const int64_t epoch = epoch_of(number);
  const std::lock_guard lock(mutex_);
  if (!last_ || last_->number != epoch) last_ = make(epoch);
  return last_->steps[number - first_step_of(epoch)];
}

}  // namespace lockstep
