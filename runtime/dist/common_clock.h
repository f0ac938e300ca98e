// SPDX-License-Identifier: Apache-2.0
// One clock for all processes of a run: the clock of the store, or rank 0's for ranks that meet in
// a folder. Each process compares its own clock with it at the begin and at the end of a period. A
// straight line between the two comparisons takes the drift of the clocks into account.
#pragma once

#include <cstdint>
#include <functional>

#include "lockstep/processes.h"

namespace lockstep {

// The store's clock was `offset` ahead of this process's clock at `here`, up to `error`. All in
// nanoseconds.
struct ClockPoint {
  int64_t here = 0;
  int64_t offset = 0;
  int64_t error = 0;
};

// This process's clock: nanoseconds_now(). Tests pass clocks that are wrong.
using LocalClock = std::function<int64_t()>;

// Compares this process's clock with the store's. All processes make the same call. `error` is a
// bound, not an estimate: the store read its clock between two readings of this process's. A folder
// has no clock: rank 0 then answers by messages, whose delay does not depend on the folder.
ClockPoint compare_clocks(Comm& comm, const LocalClock& clock);

class CommonClock {
 public:
  CommonClock() = default;  // of a single process: its own clock
  CommonClock(const ClockPoint& first, const ClockPoint& last) : first_(first), last_(last) {}

  // The store's time at a time of this process.
  int64_t common(int64_t here) const;
  // The bound for times between the two comparisons, if the drift was constant in between.
  int64_t error() const;
  int64_t offset() const { return first_.offset; }  // at the first comparison
  // The store's clock gains this number of microseconds each second; `drift_error` is its bound.
  double drift_ppm() const;
  double drift_error_ppm() const;

 private:
  double seconds() const;

  ClockPoint first_, last_;
};

}  // namespace lockstep
