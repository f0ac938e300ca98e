// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM end a run between two steps, the same two on every process.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "runtime/comm.h"

namespace lockstep {

// Until the first Interruption there is nothing to save: both signals end the process at once, with
// a message. From here on the calling thread and all that it starts block them, and a thread of
// their own receives them; call it before any other thread starts.
void end_on_signals_until_steps_begin();

// After end_on_signals_until_steps_begin(): while it lives, both signals request the end of the
// run. Further signals within a second count as the same request (a terminal and a launcher both
// forward it); a later one ends the process at once.
class Interruption {
 public:
  // `comm`: to the other processes of the run, or null.
  explicit Interruption(Comm* comm);
  ~Interruption();
  Interruption(const Interruption&) = delete;

  // Called before each step with the number of completed steps. False: the run ends here. All
  // processes get false at the same number, whichever received the signal.
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
  // Steps that this process has begun. Once it has announced the number, it begins no more until
  // all have announced theirs; the run ends after the largest.
  int64_t begun_ = 0;
  std::mutex mutex_;  // guards begun_ and announced_
  bool announced_ = false;
  std::atomic<int64_t> last_{-1};  // number of steps after which all end; -1: not known
  std::atomic<bool> over_{false};
  std::atomic<bool> lost_{false};  // the others cannot be reached any more
  std::thread thread_;
};

}  // namespace lockstep
