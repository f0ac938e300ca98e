// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/expand.h"

#include <numeric>

#include "builders/all_reduce/algorithm.h"
#include "graph/passes/copy.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

constexpr const char* kAlgorithm = "__algorithm";
constexpr const char* kShards = "__shards";
constexpr const char* kTurn = "__turn";

bool is_marked(const Node& node) {
  return node.type() == "AllReduce" && node.attributes().has(kAlgorithm);
}

bool has_marked(const Graph& graph) {
  for (int index = 0; index < graph.node_count(); ++index)
    if (is_marked(graph.node(index))) return true;
  return false;
}

// The first auxiliary device of every process, then the second of every process, ..
std::vector<int> auxiliaries_of(const AllReduceOptions& options, int replicas) {
  std::vector<int> places;
  for (int k = 0; k < options.auxiliaries; ++k)
    for (int process = 0; process < options.processes; ++process)
      places.push_back(replicas + process * options.auxiliaries + k);
  return places;
}

void expand_node(GraphCopy& copy, const Node& node, const AllReduceOptions& options) {
  const OriginScope origin(copy.to(), node.where());
  AttributeReader attributes = node.attributes();
  const AllReduceRange range{attributes.text(kAlgorithm, ""), attributes.integer(kShards, 0)};
  const AllReduceAlgorithm& algorithm = algorithm_named(range.algorithm);
  Pieces pieces(copy.to(), node.name(), read_all_reduce(node.attributes()).wire);
  Terms whole{pieces, copy.of(node.inputs()), {}, 0};
  whole.length = element_count(to_dims(copy.to().shape(whole.values[0])));
  whole.replicas.resize(whole.values.size());
  std::iota(whole.replicas.begin(), whole.replicas.end(), 0);
  std::vector<Value> sums = algorithm.build(
      whole, {options.processes, shards_of(range, options.processes), attributes.integer(kTurn, 0),
              ring_order_of(options, static_cast<int>(whole.values.size())),
              auxiliaries_of(options, static_cast<int>(whole.values.size()))});
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (algorithm.sums) sums[k] = pieces.rounded(sums[k], static_cast<int>(k));
    copy.set(node.outputs()[k], sums[k]);
  }
}

}  // namespace

Value mark_for_expansion(Graph& one, Value flat, const Algorithm& algorithm,
                         const std::string& name) {
  const Value sum = all_reduce(one, {flat}, {Reduction::sum, algorithm.wire}, {name}, name)[0];
  const int node = one.producer(sum)->index();
  one.set_attribute(node, kAlgorithm, algorithm.range.algorithm);
  one.set_attribute(node, kShards, algorithm.range.shards);
  one.set_attribute(node, kTurn, algorithm.turn);
  return sum;
}

Graph expand(Graph all, const AllReduceOptions& options) {
  if (!has_marked(all)) return all;
  GraphCopy copy(all);
  for (int index = 0; index < all.node_count(); ++index) {
    const Node node = all.node(index);
    if (is_marked(node))
      expand_node(copy, node, options);
    else
      copy.take(node);
  }
  return copy.finish();
}

}  // namespace lockstep
