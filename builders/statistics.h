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

// values[s][k]: statistic s on replica k. Answers alike with what the states take.
using PerReplica = std::vector<std::vector<Value>>;
PerReplica settle_statistics(Graph& graph, StatisticsPolicy policy, const PerReplica& values,
                             const std::vector<std::string>& names);

// Statistics on their way into their states.
struct Statistics {
  std::vector<std::string> names;
  PerReplica states, next;
};
// On each replica, under its scope, the first of its own that is not finite.
std::vector<Value> find_non_finite_statistics(Graph& graph, const Statistics& statistics,
                                              const std::vector<std::string>& scopes);
// A replica whose found[k] is not negative keeps what it had.
void keep_statistics(Graph& graph, Statistics& statistics, const std::vector<Value>& found);

}  // namespace lockstep
