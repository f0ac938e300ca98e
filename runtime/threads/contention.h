// SPDX-License-Identifier: Apache-2.0
// Detects contention: other programs on the cores of this process. Under contention, waits of a
// session's teams are short, because a spinning thread steals CPU time from the thread it is
// waiting for. Each thread is bound to a core, because the scheduler would put two threads that
// wait for each other on one core. Teams of one thread do the opposite. Alone, each thread is bound
// to a core, since the scheduler would move it without gain; under contention, all threads share
// all cores. Neither the division of work nor any bit of a result changes.
#pragma once

#include <vector>

#include "runtime/threads/contention_detector.h"
#include "runtime/threads/team.h"

namespace lockstep {

class Contention {
 public:
  // `teams`: the number of computing teams. Does not look for contention if the user has set
  // GOMP_SPINCOUNT or OMP_WAIT_POLICY, or if teams have one thread each and are not as many as the
  // cores.
  Contention(int teams, int threads_of_each);

  void look();  // between steps
  void look(ContentionDetector::Time now, const CoreTimes& so_far);
  bool there() const { return there_; }

  // Returns the behaviour of the worker's team in the next step.
  Team::WaitPolicy wait_policy_of(int worker) const;

 private:
  int teams_, threads_;
  bool wanted_;
  bool crowded_;            // more threads than cores
  std::vector<int> cores_;  // for the threads of all teams; empty: the scheduler chooses
  CoreClock clock_;
  ContentionDetector judge_;
  int looks_ = 0;  // the first look only takes a baseline
  bool there_ = false;
};

}  // namespace lockstep
