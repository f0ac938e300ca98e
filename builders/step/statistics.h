// SPDX-License-Identifier: Apache-2.0
// Running statistics over replicas, by a policy.
#pragma once

#include <string>
#include <vector>

#include "lockstep/data_parallel.h"

namespace lockstep {

// New statistics of one replica.
struct Statistics {
  std::vector<std::string> names;
  std::vector<Value> states, next;
};
// Makes `next` the values for the states of each of `replicas`.
void settle_statistics(Graph& graph, StatisticsPolicy policy, int replicas, Statistics& statistics);
// The index of the first non-finite one.
Value find_non_finite_statistics(Graph& graph, const Statistics& statistics);
// If `found` is not negative, the states keep their values.
void keep_statistics(Graph& graph, Statistics& statistics, Value found);

}  // namespace lockstep
