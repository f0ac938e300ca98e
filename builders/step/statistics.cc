// SPDX-License-Identifier: Apache-2.0
#include "builders/step/statistics.h"

#include "builders/all_reduce/all_reduce.h"
#include "builders/step/non_finite.h"
#include "builders/step/sequential_statistics.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// Sums all statistics in one bucket, because statistics are small and numerous.
std::vector<Value> mean_of(Graph& graph, int replicas, const Statistics& statistics) {
  constexpr int64_t kAll = int64_t{1} << 40;
  AllReduceOptions options;
  options.packing = {PackingRule::ready, kAll, 0, kAll};
  std::vector<Value> means =
      AllReducer(options, replicas).sum_all(graph, statistics.next, statistics.names);
  for (std::size_t s = 0; s < means.size(); ++s)
    means[s] = scale(graph, means[s], 1.F / static_cast<float>(replicas),
                     graph.name(statistics.next[s]) + "_mean");
  return means;
}

Value first_of(Graph& graph, Value value) {
  const std::string name = graph.name(value) + "_first";
  return broadcast(graph, value, {name}, name + "_broadcast")[0];
}

}  // namespace

std::string text_of(StatisticsPolicy policy) {
  return policy == StatisticsPolicy::each    ? "each"
         : policy == StatisticsPolicy::mean  ? "mean"
         : policy == StatisticsPolicy::first ? "first"
                                             : "in_turn";
}

StatisticsPolicy parse_statistics(const std::string& text) {
  for (StatisticsPolicy policy : {StatisticsPolicy::each, StatisticsPolicy::mean,
                                  StatisticsPolicy::first, StatisticsPolicy::in_turn})
    if (text == text_of(policy)) return policy;
  fail("statistics should be 'each', 'mean', 'first' or 'in_turn', not '", text, "'");
}

void settle_statistics(Graph& graph, StatisticsPolicy policy, int replicas,
                       Statistics& statistics) {
  if (statistics.next.empty() || replicas == 1 || policy == StatisticsPolicy::each) return;
  if (policy == StatisticsPolicy::mean)
    statistics.next = mean_of(graph, replicas, statistics);
  else if (policy == StatisticsPolicy::in_turn)
    statistics.next = next_in_turn(graph, replicas, statistics);
  else
    for (Value& next : statistics.next) next = first_of(graph, next);
}

Value find_non_finite_statistics(Graph& graph, const Statistics& statistics) {
  return find_non_finite(graph, statistics.next, "non_finite_statistics");
}

void keep_statistics(Graph& graph, Statistics& statistics, Value found) {
  for (std::size_t i = 0; i < statistics.next.size(); ++i)
    statistics.next[i] = unless_non_finite(graph, found, statistics.next[i], statistics.states[i]);
}

}  // namespace lockstep
