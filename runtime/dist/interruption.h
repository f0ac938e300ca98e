// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM end a run between two steps, after the same step on every process.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "lockstep/processes.h"

namespace lockstep {

// Until the first Interruption there is nothing to save: both signals end the process at once, with
// a message. From this call on, the calling thread and all threads that it starts block both
// signals, and a separate thread receives them. Call it before any other thread starts.
void end_on_signals_until_steps_begin();

// Used after end_on_signals_until_steps_begin(). While it lives, both signals request the end of
// the run. Further signals within a second count as the same request, because a terminal and a
// launcher both forward a signal. A later signal ends the process at once.
class Interruption {
 public:
  // `comm`: to the other processes of the run, or null.
  explicit Interruption(Comm* comm);
  ~Interruption();
  Interruption(const Interruption&) = delete;

  // Called before each step with the number of completed steps. Returns false if the run ends here.
  // All processes get false at the same number, whichever process received the signal.
  bool may_begin(int64_t step);
  // The signal that ended the run.
  int signal() const { return signal_; }

 private:
  void watch();
  bool find_wish();
  void announce();
  bool all_announced();

  Comm* comm_;
  std::atomic<int> signal_{0};
  // Steps that this process has begun. After it has announced the number, it begins no step until
  // all processes have announced their numbers. The run ends after the largest.
  int64_t begun_ = 0;
  std::mutex mutex_;  // guards begun_ and announced_
  bool announced_ = false;
  std::atomic<int64_t> last_{-1};  // number of steps after which all end; -1: not known
  std::atomic<bool> over_{false};
  std::atomic<bool> lost_{false};  // the other processes cannot be reached any more
  std::thread thread_;
};

}  // namespace lockstep
