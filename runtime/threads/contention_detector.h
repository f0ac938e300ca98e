// SPDX-License-Identifier: Apache-2.0
// Detects whether other programs use the cores of this process: its threads then wait for cores
// again and again.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lockstep {

// Sums over all threads of a process, in nanoseconds since each thread began.
struct CoreTimes {
  int64_t ran = 0;
  int64_t waited = 0;  // ready to run, but without a core
};

// Reads the times from the kernel. Files stay open while the threads are the same and few: opening
// takes ten times as long. Allocates only in its constructor.
class CoreClock {
 public:
  CoreClock();
  ~CoreClock();
  CoreClock(const CoreClock&) = delete;

  std::optional<CoreTimes> read();  // empty if the kernel does not count

 private:
  static constexpr int kMostOpen = 16;

  bool read_open(CoreTimes& sum) const;  // false if a thread has ended
  std::optional<CoreTimes> read_all(int listed);
  void close_all();

  void* threads_;  // a DIR, or null
  std::array<int, kMostOpen> files_{};
  int open_ = 0;  // open files in files_: one for each thread, or none
};

// Judges by the times between two looks. Cores count as shared once waiting is a 20th of the
// threads' time, and as free again after five looks in a row below a 40th. Alone, waiting is at
// most about a 100th.
class ContentionDetector {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kBetween{100};  // minimum time between looks

  bool due(Time now) const { return now >= next_; }
  // Returns true if cores are shared.
  bool look(Time now, const CoreTimes& so_far);

 private:
  Time next_{};
  std::optional<CoreTimes> last_;
  bool shared_ = false;
  int quiet_ = 0;  // looks in a row
};

}  // namespace lockstep
