// OpenMP's threads spin where they wait for each other, which is fastest on cores of their own. On
// cores shared with other programs it takes time from the thread that is waited for. libgomp spins
// a short while only (100 turns instead of some milliseconds) as long as a process has more OpenMP
// threads than cores, and asks for that in every wait, those in oneDNN included. So while cores are
// shared, a few OpenMP threads more are kept, asleep. No share of work changes, and no bit.
#pragma once

#include <memory>

#include "runtime/exec/shared_cores.h"

namespace lockstep {

class ShortWaits {
 public:
  // Does nothing for teams of one thread, and where the user has said how threads wait:
  // GOMP_SPINCOUNT or OMP_WAIT_POLICY.
  ShortWaits(int teams, int threads_of_each);
  ~ShortWaits();
  ShortWaits(const ShortWaits&) = delete;

  void look();  // between steps
  void look(SharedCores::Time now, const CoreTimes& so_far);
  bool on() const { return surplus_ != nullptr; }

 private:
  class Surplus;

  int surplus_count_;  // 0: never on
  int others_;
  CoreClock clock_;
  SharedCores cores_;
  std::unique_ptr<Surplus> surplus_;
};

}  // namespace lockstep
