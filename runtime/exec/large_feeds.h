// SPDX-License-Identifier: Apache-2.0
// The large feeds of a plan on asynchronous devices, such as a batch of images: from the caller's
// memory to pinned memory, from there to staging memory of the device by a queue of its own, beside
// a run that is under way, and from there to their places when a run begins. A recorded run has
// fixed addresses: the last copy, within a device's memory, costs less than a second recording.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/exec/bound_plan.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class LargeFeeds {
 public:
  // `accelerator` must outlive it.
  LargeFeeds(const Plan& plan, Accelerator& accelerator);

  bool has(std::size_t feed) const { return has_[feed]; }
  // Begins to copy the feeds to the devices; afterwards their memory is free. Those sent before
  // should have been placed, or are lost.
  void send(std::span<const Tensor> feeds, int threads);
  // Puts the copies of what was sent to its places into the workers' queues, the root's first. All
  // that is put into the root's queue then waits for them.
  void place(const BoundPlan& bound, const std::function<Queue&(int worker)>& queue);

 private:
  struct Feed {
    std::size_t number;
    std::size_t bytes;
    Memory pinned, staging;
  };
  // Of the worker that reads them.
  struct Line {
    int worker;
    std::vector<Feed> feeds = {};
    std::unique_ptr<Event> sent, placed;
    bool any_placed = false;
    std::unique_ptr<Queue> queue;  // last: it ends before the memory that it uses
  };

  std::vector<bool> has_;  // by feed
  std::vector<Line> lines_;
};

}  // namespace lockstep
