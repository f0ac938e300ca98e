// SPDX-License-Identifier: Apache-2.0
// The devices of a whole step, replicas and auxiliary devices, divided among processes.
#pragma once

#include "lockstep/data_parallel.h"

namespace lockstep {

constexpr int kEveryProcess = -1;

// The devices of each process. Processes differ by at most one replica. In the whole step, the
// replicas of all processes come first, then the auxiliary devices of the first process, the second
// process, ..; in a process's own step, replicas come first, then auxiliary devices.
class Shares {
 public:
  // `replicas` and `auxiliaries` are numbers over all processes. Throws if there are too few
  // replicas, or if processes would have unequal numbers of auxiliary devices.
  Shares(const ProcessShare& share, int replicas, int auxiliaries);

  int rank() const { return share_.rank; }
  int processes() const { return share_.processes; }
  int replicas() const { return replicas_; }
  int count_of(int rank) const { return first_of(rank + 1) - first_of(rank); }
  int first() const { return first_of(share_.rank); }
  int count() const { return count_of(share_.rank); }
  int auxiliaries() const { return auxiliaries_; }  // of each process

  // The process of device `place` of the whole step. Throws if the step has no such device.
  int process_of(int place) const;
  // The number of this process's device `place` in its own step.
  int own_number(int place) const;

 private:
  int first_of(int process) const { return replicas_ * process / share_.processes; }
  int auxiliary_number(int place) const;

  ProcessShare share_;
  int replicas_;
  int auxiliaries_;
};

}  // namespace lockstep
