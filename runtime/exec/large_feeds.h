// SPDX-License-Identifier: Apache-2.0
// The large feeds of a plan on asynchronous devices, such as a batch of images. A feed is copied
// from the caller's memory to pinned memory. A separate queue copies it to staging memory of the
// device, while a run may be under way. When a run begins, the feed is copied to its final address.
// A recorded run has fixed addresses: the last copy, within a device's memory, costs less than a
// second recording.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/exec/bound_plan.h"
#include "runtime/memory.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class LargeFeeds {
 public:
  // `accelerator` must outlive the object.
  LargeFeeds(const Plan& plan, Accelerator& accelerator);

  bool has(std::size_t feed) const { return has_[feed]; }
  // Starts to copy the feeds to the devices; afterwards the caller may reuse their memory. Earlier
  // feeds must have been placed, or are lost.
  void send(std::span<const Tensor> feeds, int threads);
  // Enqueues the copies of the sent feeds to their final addresses on the workers' queues, the
  // root's first. Later work on the root's queue waits for the copies.
  void place(const BoundPlan& bound, const std::function<Queue&(int worker)>& queue);

 private:
  struct Feed {
    std::size_t number;
    std::size_t bytes;
    Memory pinned, staging;
  };
  // The feeds of one worker.
  struct Line {
    int worker;
    std::vector<Feed> feeds = {};
    std::unique_ptr<Event> sent, placed;
    bool any_placed = false;
    std::unique_ptr<Queue> queue;  // last: ends before the memory that it uses
  };

  std::vector<bool> has_;  // by feed
  std::vector<Line> lines_;
};

}  // namespace lockstep
