// SPDX-License-Identifier: Apache-2.0
// The times of a plan's steps on asynchronous devices, by the devices' clocks. Events around each
// step say when a queue reached them. One more event for each queue, whose time the host knows,
// leads from the device's clock to the host's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/exec/run_spans.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class DeviceTimes {
 public:
  // Both must outlive the object.
  DeviceTimes(const Plan& plan, Accelerator& accelerator);

  // Compares the clocks. The queues must be idle.
  void set_clocks(const std::function<Queue&(int worker)>& queue);
  // Called before and after a step is enqueued.
  void begin(int step, Queue& queue) { queue.record(*marks_[step].begins); }
  void end(int step, Queue& queue) { queue.record(*marks_[step].ends); }
  // Writes the times of all steps once all queues are done. A queue waits from one step's end to
  // the next step's begin.
  void read(RunSpans& spans) const;

 private:
  struct Marks {
    std::unique_ptr<Event> begins, ends;
  };
  // The event was reached at `at`, up to `error`.
  struct Clock {
    std::unique_ptr<Event> event;
    int64_t at = 0, error = 0;
  };
  int64_t time_of(const Clock& clock, Event& event) const;

  const Plan& plan_;
  Accelerator& accelerator_;
  std::vector<Marks> marks_;   // by step
  std::vector<Clock> clocks_;  // by worker
};

}  // namespace lockstep
