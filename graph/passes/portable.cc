// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/portable.h"

#include "graph/local_functions.h"
#include "graph/passes/copy.h"

namespace lockstep {
namespace {

// Lists all nodes without a body in one error, so that the user does not find them one by one.
void check_bodies(const Graph& graph) {
  std::string without;
  for (int index = 0; index < graph.node_count(); ++index)
    if (const Node node = graph.node(index); node.op() && node.op()->no_body)
      without += join("\n  ", node.description(), ": ", node.op()->no_body);
  check(without.empty(), "these nodes cannot be written in ONNX's operators:", without);
}

void write_body(GraphCopy& copy, const Graph& from, const Node& node) {
  Graph& to = copy.to();
  const std::vector<Value> operands = copy.of(node.inputs());
  ReplicaScope replica(to, node.replica());
  const OriginScope origin(to, node.where());
  std::vector<Value> made;
  try {
    const NameScope scope(to, node.name());
    made = node.op()->body({to, node, operands});
  } catch (const Error& error) {
    fail(node.description(), ", in ONNX's operators: ", error.what());
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Value old = node.outputs()[i];
    if (!old) continue;
    to.rename(made[i], from.name(old));
    copy.set(old, made[i]);
  }
}

}  // namespace

Graph in_standard_operators(const Graph& graph, OpenBodies open) {
  check_bodies(graph);
  GraphCopy copy(graph);
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    const bool remains = open == OpenBodies::remain && has_open_body(node);
    if (node.op() && node.op()->body && !remains)
      write_body(copy, graph, node);
    else
      copy.copy(node);
  }
  return copy.finish();
}

}  // namespace lockstep
