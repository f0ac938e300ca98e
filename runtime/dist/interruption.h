// Ctrl-C and SIGTERM end a run between two steps; every process of it between the same two.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "runtime/comm.h"

namespace lockstep {

// From here to the first Interruption there is nothing to save: the two signals end the process at
// once, with a line that says so.
void end_on_signals_until_steps_begin();

// While it lives the two signals ask the run to end. Those within a second of the first are the
// same wish (a terminal and a launcher both pass it on); a later one ends the process at once.
class Interruption {
 public:
  // `comm`: to the other processes of the run, or null.
  explicit Interruption(Comm* comm);
  ~Interruption();
  Interruption(const Interruption&) = delete;

  // Asked before each step, with the number of those that are done. False: the run ends here. All
  // processes are told so at the same number, whichever of them was sent the signal.
  bool may_begin(int64_t step);
  // That which ended the run.
  int signal() const { return signal_; }

 private:
  void watch();
  bool find_wish();
  void announce();
  bool all_announced();

  Comm* comm_;
  std::atomic<int> signal_{0};
  // Steps that this process has begun. Once it has said how many, it begins no other until all have
  // said so; the run ends after the most that any had begun.
  int64_t begun_ = 0;
  std::mutex mutex_;  // of begun_ and announced_ together
  bool announced_ = false;
  std::atomic<int64_t> last_{-1};  // after which all end; -1: not known
  std::atomic<bool> over_{false};
  std::atomic<bool> lost_{false};  // the others cannot be asked any more
  std::thread thread_;
};

}  // namespace lockstep
