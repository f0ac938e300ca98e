// SPDX-License-Identifier: Apache-2.0
// Running statistics that all replicas update, one after the other in replica order, as if the
// replicas shared a single copy. Ray's LocalSyncParallelOptimizer also runs the update ops of all
// its towers.
#pragma once

#include <vector>

#include "builders/step/statistics.h"

namespace lockstep {

// With state s, kept fraction m and batch statistic b_k, replica k alone computes m s + (1 - m)
// b_k. n replicas in turn compute
//   m^n s + sum of m^(n - 1 - k) (1 - m) b_k
// The sum is one marked collective for all statistics. Throws if a state is not a batch norm's
// running statistic. The error names the state.
std::vector<Value> next_in_turn(Graph& one, int replicas, const Statistics& statistics);

// Replaces marked collectives in the graph of all replicas. Replica k multiplies the result of
// replica k - 1 by m and adds its own term. Then all replicas copy the last result.
Graph expand_in_turn(Graph all);

}  // namespace lockstep
