// SPDX-License-Identifier: Apache-2.0
// Other programs on the cores of this process. A session's teams behave differently beside them:
// waits are short, since who spins takes time from the thread that is waited for, and each thread
// keeps to a core of its own, because the scheduler would put two threads that wait for each other
// on one. With teams of one thread it is the other way round: alone, each keeps to a core, since
// the scheduler would move it without a gain; beside other programs, all share all cores. No share
// of work changes, and no bit.
#pragma once

#include <vector>

#include "runtime/threads/shared_cores.h"
#include "runtime/threads/team.h"

namespace lockstep {

class Neighbours {
 public:
  // `teams`: those that compute. Looks for none if teams are of one thread and not as many as
  // cores, or if the user has said how threads wait: GOMP_SPINCOUNT or OMP_WAIT_POLICY.
  Neighbours(int teams, int threads_of_each);

  void look();  // between steps
  void look(SharedCores::Time now, const CoreTimes& so_far);
  bool there() const { return there_; }

  // How the worker's team behaves in the next step.
  Team::Manner manner_of(int worker) const;

 private:
  int teams_, threads_;
  bool wanted_;
  bool crowded_;            // more threads than cores
  std::vector<int> cores_;  // for the threads of all teams; empty: left to the scheduler
  CoreClock clock_;
  SharedCores judge_;
  int looks_ = 0;  // the first judges nothing
  bool there_ = false;
};

}  // namespace lockstep
