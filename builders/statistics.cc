#include "builders/statistics.h"

#include "builders/all_reduce/all_reduce.h"
#include "builders/non_finite.h"
#include "operators/collective/collective.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

Site shared_site(const std::string& name) { return Site(name, Where{"", 0}); }

// All of them in one sum: statistics are small and many.
PerReplica mean_of(Graph& graph, const PerReplica& values, const std::vector<std::string>& names) {
  const auto replicas = static_cast<int>(values[0].size());
  constexpr int64_t kAll = int64_t{1} << 40;
  AllReduceOptions options;
  options.packing = {PackingRule::ready, kAll, 0, kAll};
  PerReplica means = AllReducer(options, replicas).sum_all(graph, values, names);
  for (std::size_t s = 0; s < means.size(); ++s)
    for (std::size_t k = 0; k < means[s].size(); ++k) {
      ReplicaScope replica(graph, static_cast<int>(k));
      means[s][k] = scale(graph, means[s][k], 1.F / static_cast<float>(replicas),
                          shared_site(graph.name(values[s][k]) + "_mean"));
    }
  return means;
}

PerReplica first_of(Graph& graph, const PerReplica& values) {
  PerReplica shared;
  for (const std::vector<Value>& of_replica : values) {
    std::vector<std::string> names;
    for (Value value : of_replica) names.push_back(graph.name(value) + "_first");
    shared.push_back(broadcast(graph, of_replica[0], names, shared_site(names[0] + "_broadcast")));
  }
  return shared;
}

}  // namespace

StatisticsPolicy parse_statistics(const std::string& text) {
  if (text == "each") return StatisticsPolicy::each;
  if (text == "mean") return StatisticsPolicy::mean;
  if (text == "first") return StatisticsPolicy::first;
  fail("statistics of replicas are 'each', 'mean' or 'first', not '", text, "'");
}

PerReplica settle_statistics(Graph& graph, StatisticsPolicy policy, const PerReplica& values,
                             const std::vector<std::string>& names) {
  if (values.empty() || values[0].size() == 1 || policy == StatisticsPolicy::each) return values;
  return policy == StatisticsPolicy::mean ? mean_of(graph, values, names) : first_of(graph, values);
}

std::vector<Value> find_non_finite_statistics(Graph& graph, const Statistics& statistics,
                                              const std::vector<std::string>& scopes) {
  std::vector<Value> found;
  for (std::size_t k = 0; k < scopes.size(); ++k) {
    ReplicaScope replica(graph, static_cast<int>(k));
    std::vector<Value> mine;
    for (const auto& of_replicas : statistics.next) mine.push_back(of_replicas[k]);
    found.push_back(find_non_finite(graph, mine, scopes[k] + "/non_finite_statistics"));
  }
  return found;
}

void keep_statistics(Graph& graph, Statistics& statistics, const std::vector<Value>& found) {
  for (std::size_t i = 0; i < statistics.next.size(); ++i)
    for (std::size_t k = 0; k < found.size(); ++k) {
      ReplicaScope replica(graph, static_cast<int>(k));
      Value& next = statistics.next[i][k];
      next = unless_non_finite(graph, found[k], next, statistics.states[i][k]);
    }
}

}  // namespace lockstep
