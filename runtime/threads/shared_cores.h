// SPDX-License-Identifier: Apache-2.0
// Finds out whether other programs use the cores of this process: its threads then wait for a core
// again and again.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lockstep {

// Nanoseconds of all threads of a process together, since each began.
struct CoreTimes {
  int64_t ran = 0;
  int64_t waited = 0;  // ready to run, while others ran
};

// Reads them from the kernel, whose files stay open while the threads are the same few: opening
// them takes ten times as long. Allocates nothing but in its constructor.
class CoreClock {
 public:
  CoreClock();
  ~CoreClock();
  CoreClock(const CoreClock&) = delete;

  std::optional<CoreTimes> read();  // none where the kernel does not count

 private:
  static constexpr int kMostOpen = 16;

  bool read_open(CoreTimes& sum) const;  // false if one of these threads has ended
  std::optional<CoreTimes> read_all(int listed);
  void close_all();

  void* threads_;  // a DIR, or null
  std::array<int, kMostOpen> files_{};
  int open_ = 0;  // so many of files_: one for each thread, or none
};

// Judges by what is added between two looks. Cores are shared as soon as waiting is a 20th of the
// threads' time, and no longer when it was less than a 40th in five looks in a row: alone, it is
// about a 100th at most.
class SharedCores {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kBetween{100};  // looks, at least

  bool due(Time now) const { return now >= next_; }
  // Whether cores are shared.
  bool look(Time now, const CoreTimes& so_far);

 private:
  Time next_{};
  std::optional<CoreTimes> last_;
  bool shared_ = false;
  int quiet_ = 0;  // looks in a row
};

}  // namespace lockstep
