// SPDX-License-Identifier: Apache-2.0
#include "builders/step/shares.h"

#include "lockstep/data_parallel.h"
#include "lockstep/error.h"
#include "lockstep/graph.h"

namespace lockstep {

Shares::Shares(const ProcessShare& share, int replicas, int auxiliaries)
    : share_(share), replicas_(replicas) {
  check(share.processes >= 1 && share.rank >= 0 && share.rank < share.processes, "rank ",
        share.rank, " of ", share.processes,
        " processes: a rank should be at least 0 and below the number of processes");
  check(replicas >= share.processes, replicas, " replicas cannot be divided over ", share.processes,
        " processes; build the step for ", share.processes, " or more");
  check(auxiliaries % share.processes == 0, auxiliaries,
        " auxiliary devices cannot be divided equally over ", share.processes,
        " processes; build the step for that number of processes");
  auxiliaries_ = auxiliaries / share.processes;
}

int Shares::process_of(int place) const {
  if (place == kEveryReplica) return kEveryProcess;
  if (place >= replicas_) return auxiliary_number(place) / auxiliaries_;
  int process = place * share_.processes / replicas_;
  while (first_of(process + 1) <= place) ++process;
  return process;
}

int Shares::own_number(int place) const {
  if (place == kEveryReplica) return kEveryReplica;
  if (place < replicas_) return place - first();
  return count() + auxiliary_number(place) % auxiliaries_;
}

// The index of a device among the auxiliary devices of all processes.
int Shares::auxiliary_number(int place) const {
  const int all = auxiliaries_ * share_.processes;
  check(place - replicas_ < all, "a node is on device ", place, ", but the step has ", replicas_,
        " replicas and ", all, " auxiliary devices; build the step again");
  return place - replicas_;
}

}  // namespace lockstep
