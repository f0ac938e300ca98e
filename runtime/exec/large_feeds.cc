// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/large_feeds.h"

#include <algorithm>

#include "runtime/accelerator.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// Smaller feeds are copied within the recording, which costs less than a separate call of the host.
constexpr std::size_t kLarge = std::size_t{1} << 16U;

}  // namespace

LargeFeeds::LargeFeeds(const Plan& plan, Accelerator& accelerator) : has_(plan.feeds.size()) {
  for (std::size_t number = 0; number < plan.feeds.size(); ++number) {
    if (plan.feeds[number] < 0) continue;
    const Slot& slot = plan.slots[plan.feeds[number]];
    const std::size_t bytes = slot.desc.bytes();
    if (bytes < kLarge) continue;
    has_[number] = true;
    const Device device = plan.workers[slot.worker].device;
    auto line = std::ranges::find(lines_, slot.worker, &Line::worker);
    if (line == lines_.end()) {
      lines_.push_back({.worker = slot.worker,
                        .sent = accelerator.event(device),
                        .placed = accelerator.event(device),
                        .queue = accelerator.queue(device)});
      line = lines_.end() - 1;
    }
    line->feeds.push_back({number, bytes, accelerator.allocate_host(bytes),
                           accelerator.allocate(device, bytes, std::byte{0})});
  }
}

void LargeFeeds::send(std::span<const Tensor> feeds, int threads) {
  for (Line& line : lines_) line.queue->finish();  // earlier copies have left pinned memory
  for (Line& line : lines_)
    for (Feed& feed : line.feeds)
      parallel_copy(feed.pinned.get(), feeds[feed.number].data, feed.bytes, threads);
  for (Line& line : lines_) {
    if (line.any_placed) line.queue->wait(*line.placed);
    for (Feed& feed : line.feeds)
      line.queue->copy(feed.staging.get(), feed.pinned.get(), feed.bytes);
    line.queue->record(*line.sent);
  }
}

void LargeFeeds::place(const BoundPlan& bound, const std::function<Queue&(int worker)>& queue) {
  for (Line& line : lines_) {
    Queue& to = queue(line.worker);
    to.wait(*line.sent);
    for (Feed& feed : line.feeds)
      to.copy(bound.feeds[feed.number].data, feed.staging.get(), feed.bytes);
    to.record(*line.placed);
    line.any_placed = true;
    if (line.worker != 0) queue(0).wait(*line.placed);
  }
}

}  // namespace lockstep
