// SPDX-License-Identifier: Apache-2.0
#include "builders/step/shared_counts.h"

#include <set>

#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

bool depends_on_params(const OneReplica& one, Value value) {
  std::set<int> params, seen;
  for (const Net::Param& param : one.params) params.insert(param.value.id);
  std::vector<Value> open{value};
  while (!open.empty()) {
    const Value here = open.back();
    open.pop_back();
    if (!here || !seen.insert(here.id).second) continue;
    if (params.contains(here.id)) return true;
    if (const auto maker = one.graph.producer(here))
      open.insert(open.end(), maker->inputs().begin(), maker->inputs().end());
  }
  return false;
}

Value at_least_one(Graph& graph, Value count, const std::string& name) {
  return graph.add_value({.type = "Max", .inputs = {count, shared_number(graph, 1)}}, name);
}

// The count summed over all replicas. If `early`, also over all parts.
Value count_of_all(OneReplica& one, Value count, const CountShares& shares, bool early,
                   const std::string& name) {
  Graph& graph = one.graph;
  std::vector<Value> made;  // values that are the same in all parts
  Value all = count;
  if (early && shares.parts > 1) {
    std::vector<Value> counts{count};
    for (int part = 1; part < shares.parts; ++part)
      counts.push_back(value_in_part(one, count, part));
    made.push_back(all = graph.add_value({.type = "Sum", .inputs = counts}, name + "_of_parts"));
  }
  if (shares.replicas > 1) {
    const std::string of_all = name + "_of_all";
    const Value mine = reshape(graph, all, {1}, name + "_of_replica");
    const Value sum = all_reduce(graph, {mine}, Reduction::sum, {of_all}, of_all + "_reduce")[0];
    all = reshape(graph, sum, {}, of_all + "_number");
    if (early) made.insert(made.end(), {mine, sum, all});
  }
  for (auto& part : one.early)
    for (Value value : made) part[value.id] = value;
  return all;
}

}  // namespace

void share_counts(OneReplica& one, const CountShares& shares) {
  if (shares.replicas * shares.parts == 1) return;
  Graph& graph = one.graph;
  for (std::size_t i = 0; i < one.counts.size(); ++i) {
    const Value count = one.counts[i];
    if (!count) continue;
    const std::string& loss = one.loss_names[i];
    const bool early = !depends_on_params(one, count);
    const Value all = count_of_all(one, count, shares, early, loss + "_count");
    Value factor = div(graph, at_least_one(graph, count, loss + "_count_or_one"),
                       at_least_one(graph, all, loss + "_count_of_all_or_one"), loss + "_part");
    const int times = shares.mean ? shares.replicas : 1, parts = early ? 1 : shares.parts;
    if (times != parts)
      factor = mul(graph, factor,
                   shared_number(graph, static_cast<double>(times) / static_cast<double>(parts)),
                   loss + "_scaled_part");
    one.parts[0].losses[i] = mul(graph, one.parts[0].losses[i], factor, loss + "_scaled");
  }
}

}  // namespace lockstep
