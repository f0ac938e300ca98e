// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/prune.h"

namespace lockstep {

std::vector<bool> needed_nodes(const Graph& graph, const std::vector<Value>& wanted) {
  std::vector<bool> value_needed(graph.value_count(), false);
  std::vector<bool> node_needed(graph.node_count(), false);
  for (Value value : wanted) value_needed[value.id] = true;
  for (int index = graph.node_count() - 1; index >= 0; --index) {
    Node node = graph.node(index);
    if (node.op() && node.op()->exchange) node_needed[index] = true;
    for (Value output : node.outputs())
      if (output && value_needed[output.id] && !graph.literal(output)) node_needed[index] = true;
    if (!node_needed[index]) continue;
    for (Value input : node.inputs())
      if (input) value_needed[input.id] = true;
  }
  return node_needed;
}

std::vector<Value> prune(Graph& graph, const std::vector<Value>& wanted) {
  return graph.keep(needed_nodes(graph, wanted));
}

}  // namespace lockstep
