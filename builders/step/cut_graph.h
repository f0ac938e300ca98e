// Cuts one graph of a training step for one process.
#pragma once

#include <algorithm>

#include "builders/step/partition.h"
#include "graph/graph.h"

namespace lockstep {

constexpr int kEveryProcess = -1;

// The replicas of each process: their numbers differ by at most one. Behind the replicas of all
// processes come the auxiliary devices of the first one, the second one, ..; in a process's own
// numbers, its auxiliary devices come behind its replicas.
class Shares {
 public:
  Shares(const ProcessShare& share, int replicas, int auxiliaries = 0)
      : share_(share), replicas_(replicas), auxiliaries_(auxiliaries / share.processes) {
    check(share.processes >= 1 && share.rank >= 0 && share.rank < share.processes, "rank ",
          share.rank, " of ", share.processes, " processes");
    check(replicas >= share.processes, replicas, " replicas cannot be divided over ",
          share.processes, " processes");
    check(auxiliaries % share.processes == 0, auxiliaries,
          " auxiliary devices cannot be divided equally over ", share.processes, " processes");
  }
  int rank() const { return share_.rank; }
  int processes() const { return share_.processes; }
  int replicas() const { return replicas_; }
  int count_of(int rank) const { return first_of(rank + 1) - first_of(rank); }
  int first() const { return first_of(share_.rank); }
  int count() const { return count_of(share_.rank); }
  int auxiliaries() const { return auxiliaries_; }  // of each process
  int process_of(int replica) const {
    if (replica == kEveryReplica) return kEveryProcess;
    if (replica >= replicas_) return auxiliaries_ > 0 ? (replica - replicas_) / auxiliaries_ : 0;
    int process = replica * share_.processes / replicas_;
    while (first_of(process + 1) <= replica) ++process;
    return process;
  }
  // The number that a place of this process has in its own step.
  int own_number(int replica) const {
    if (replica == kEveryReplica) return kEveryReplica;
    if (replica < replicas_) return replica - first();
    return count() + (replica - replicas_) % std::max(auxiliaries_, 1);
  }

 private:
  int first_of(int process) const { return replicas_ * process / share_.processes; }

  ProcessShare share_;
  int replicas_;
  int auxiliaries_;
};

// This process's replicas, renumbered from 0, with messages where values cross; messages are
// numbered from `first_message`.
Graph cut_graph(const Graph& whole, const Shares& shares, const Owners& owners,
                int64_t first_message);

}  // namespace lockstep
