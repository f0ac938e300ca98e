// SPDX-License-Identifier: Apache-2.0
// Running statistics that all replicas move, one after the other in their order, as if there were
// one set of them: Ray's LocalSyncParallelOptimizer runs the update ops of all its towers.
#pragma once

#include <vector>

#include "builders/step/statistics.h"

namespace lockstep {

// With kept share m, replica k's own new value is m s + (1 - m) b_k, of the state s and its batch's
// b_k. In turn the state becomes
//   m^n s + sum of m^(n - 1 - k) (1 - m) b_k
// The sum is a marked collective, for all statistics at once. Throws naming a statistic that is not
// a batch norm's, since nobody knows how it moves.
std::vector<Value> next_in_turn(Graph& one, int replicas, const Statistics& statistics);

// Replaces marked collectives, once replicas stand: replica k multiplies what replica k - 1 has by
// m and adds its own; then all get a copy.
Graph expand_in_turn(Graph all);

}  // namespace lockstep
