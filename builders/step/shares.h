// SPDX-License-Identifier: Apache-2.0
// The places of a whole step, replicas and auxiliary devices, as processes share them out.
#pragma once

#include "builders/step/partition.h"

namespace lockstep {

constexpr int kEveryProcess = -1;

// The replicas of each process: their numbers differ by at most one. Behind the replicas of all
// processes come the auxiliary devices of the first one, the second one, ..; in a process's own
// numbers, its auxiliary devices come behind its replicas.
class Shares {
 public:
  // `replicas`, `auxiliaries`: of all processes. Throws if there are too few replicas, or if
  // processes would have unequal numbers of auxiliary devices.
  Shares(const ProcessShare& share, int replicas, int auxiliaries);

  int rank() const { return share_.rank; }
  int processes() const { return share_.processes; }
  int replicas() const { return replicas_; }
  int count_of(int rank) const { return first_of(rank + 1) - first_of(rank); }
  int first() const { return first_of(share_.rank); }
  int count() const { return count_of(share_.rank); }
  int auxiliaries() const { return auxiliaries_; }  // of each process

  // The process of a place of the whole step. Throws for a place behind the last.
  int process_of(int place) const;
  // The number that a place of this process has in its own step.
  int own_number(int place) const;

 private:
  int first_of(int process) const { return replicas_ * process / share_.processes; }
  int auxiliary_number(int place) const;

  ProcessShare share_;
  int replicas_;
  int auxiliaries_;
};

}  // namespace lockstep
