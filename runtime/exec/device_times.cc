// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/device_times.h"

#include <algorithm>
#include <cmath>

#include "runtime/nanoseconds.h"

namespace lockstep {

DeviceTimes::DeviceTimes(const Plan& plan, Accelerator& accelerator)
    : plan_(plan), accelerator_(accelerator) {
  for (const PlanStep& step : plan.steps) {
    const Device device = plan.workers[step.worker].device;
    marks_.push_back({accelerator.timed_event(device), accelerator.timed_event(device)});
  }
  for (const Worker& worker : plan.workers)
    clocks_.push_back({accelerator.timed_event(worker.device)});
}

// The event lies between two looks at the host's clock. The shortest of several trials has the
// smallest error.
void DeviceTimes::set_clocks(const std::function<Queue&(int worker)>& queue) {
  constexpr int kTrials = 5;
  for (std::size_t worker = 0; worker < clocks_.size(); ++worker) {
    Clock& clock = clocks_[worker];
    Queue& line = queue(static_cast<int>(worker));
    const auto enqueue = [&] {
      const int64_t before = nanoseconds_now();
      line.record(*clock.event);
      line.finish();
      return std::pair(before, nanoseconds_now());
    };
    int64_t shortest = INT64_MAX;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto [before, after] = enqueue();
      shortest = std::min(shortest, after - before);
    }
    // The time of the event itself is lost when the event is recorded again, so one trial must be
    // the last. A trial that is about as short as the shortest is accepted.
    for (int trial = 0; trial < 4 * kTrials; ++trial) {
      const auto [before, after] = enqueue();
      clock.at = before + (after - before) / 2;
      clock.error = (after - before + 1) / 2;
      if (after - before <= shortest + shortest / 4) break;
    }
  }
}

int64_t DeviceTimes::time_of(const Clock& clock, Event& event) const {
  return clock.at + std::llround(accelerator_.seconds_between(*clock.event, event) * 1e9);
}

void DeviceTimes::read(RunSpans& spans) const {
  spans.device_error = 1;
  for (std::size_t worker = 0; worker < clocks_.size(); ++worker) {
    const Clock& clock = clocks_[worker];
    spans.device_error = std::max(spans.device_error, clock.error);
    int64_t before = spans.begins;
    for (const int step : plan_.workers[worker].steps) {
      StepSpan& span = spans.steps[step];
      span.waits = before;
      span.begins = std::max(before, time_of(clock, *marks_[step].begins));
      span.ends = std::max(span.begins, time_of(clock, *marks_[step].ends));
      before = span.ends;
    }
  }
}

}  // namespace lockstep
