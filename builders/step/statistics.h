// What becomes of the values that each replica computes for itself: running statistics.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

enum class StatisticsPolicy {
  each,   // every replica keeps those of its own share of the batches
  mean,   // every replica takes the mean of all
  first,  // every replica takes replica 0's, as the reports of Caffe2's users have it
};
StatisticsPolicy parse_statistics(const std::string& text);
std::string text_of(StatisticsPolicy policy);

// Statistics of one replica on their way into their states.
struct Statistics {
  std::vector<std::string> names;
  std::vector<Value> states, next;
};
// `next` becomes what the states of each of `replicas` take.
void settle_statistics(Graph& graph, StatisticsPolicy policy, int replicas, Statistics& statistics);
// The first that is not finite.
Value find_non_finite_statistics(Graph& graph, const Statistics& statistics);
// Where `found` is not negative the states keep what they had.
void keep_statistics(Graph& graph, Statistics& statistics, Value found);

}  // namespace lockstep
