// Cuts one graph of a training step for one process.
#pragma once

#include "builders/step/partition.h"
#include "graph/graph.h"

namespace lockstep {

constexpr int kEveryProcess = -1;

// The replicas of each process: their numbers differ by at most one.
class Shares {
 public:
  Shares(const ProcessShare& share, int replicas) : share_(share), replicas_(replicas) {
    check(share.processes >= 1 && share.rank >= 0 && share.rank < share.processes, "rank ",
          share.rank, " of ", share.processes, " processes");
    check(replicas >= share.processes, replicas, " replicas cannot be divided over ",
          share.processes, " processes");
  }
  int rank() const { return share_.rank; }
  int processes() const { return share_.processes; }
  int replicas() const { return replicas_; }
  int count_of(int rank) const { return first_of(rank + 1) - first_of(rank); }
  int first() const { return first_of(share_.rank); }
  int count() const { return count_of(share_.rank); }
  int process_of(int replica) const {
    if (replica == kEveryReplica) return kEveryProcess;
    int process = replica * share_.processes / replicas_;
    while (first_of(process + 1) <= replica) ++process;
    return process;
  }

 private:
  int first_of(int process) const { return replicas_ * process / share_.processes; }

  ProcessShare share_;
  int replicas_;
};

// This process's replicas, renumbered from 0, with messages where values cross; messages are
// numbered from `first_message`.
Graph cut_graph(const Graph& whole, const Shares& shares, const Owners& owners,
                int64_t first_message);

}  // namespace lockstep
