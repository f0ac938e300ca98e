// SPDX-License-Identifier: Apache-2.0
// The policy for values that each replica computes for itself: running statistics.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

enum class StatisticsPolicy {
  each,     // every replica keeps the statistics of its own share of the batches
  mean,     // every replica takes the mean of all
  first,    // every replica takes replica 0's, as in Caffe2's data_parallel_model
  in_turn,  // one set for all, which replica after replica moves by its share of the batch
};
StatisticsPolicy parse_statistics(const std::string& text);
std::string text_of(StatisticsPolicy policy);

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
