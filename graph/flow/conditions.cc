// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/conditions.h"

#include <utility>

#include "graph/known.h"

namespace lockstep {

// True if the value needs no node to be computed.
bool Conditions::is_constant(Value value) {
  if (trained_.count(value.id)) return false;
  if (graph_.literal(value)) return true;
  const Shape* content = graph_.content(value);
  if (!content) return false;
  auto literal = literal_of(*content, graph_.type(value));
  if (!literal) return false;
  graph_.fold(value, std::move(*literal));
  return true;
}

// Lists the nodes that compute `value` from constants, operands first. Returns false, early, if an
// operand is not constant. Has its own stack, because a file may have a long chain of nodes.
bool Conditions::follow(Value value, std::vector<int>& nodes) {
  std::vector<std::pair<int, std::size_t>> stack;  // node, next operand
  std::set<int> listed;
  auto enter = [&](Value operand) {
    if (is_constant(operand)) return true;
    const auto producer = graph_.producer(operand);
    if (!producer || unknown_.count(operand.id)) return false;
    if (listed.insert(producer->index()).second) stack.emplace_back(producer->index(), 0);
    return true;
  };
  if (!enter(value)) return false;
  while (!stack.empty()) {
    auto& [index, next] = stack.back();
    const Node node = graph_.node(index);
    const bool of_shape =
        (node.type() == "Shape" || node.type() == "Size") && node.domain().empty();
    if (of_shape) {
      const TensorType& type = graph_.type(node.inputs()[0]);
      if (!type.ranked || !is_static(type.shape)) return false;
    }
    if (of_shape || next == node.inputs().size()) {
      nodes.push_back(index);
      stack.pop_back();
      continue;
    }
    const Value operand = node.inputs()[next++];
    if (operand && !enter(operand)) return false;
  }
  return true;
}

std::optional<Literal> Conditions::value_of(Value value) {
  if (is_constant(value)) return *graph_.literal(value);
  std::vector<int> nodes;
  bool known = follow(value, nodes);
  for (std::size_t i = 0; known && i < nodes.size(); ++i) {
    const Node node = graph_.node(nodes[i]);
    auto literals = folded(node, folder_);
    known = literals.has_value();
    for (std::size_t k = 0; known && k < literals->size(); ++k)
      if (node.outputs()[k]) graph_.fold(node.outputs()[k], std::move((*literals)[k]));
  }
  if (!known || !graph_.literal(value)) {
    unknown_.insert(value.id);
    return std::nullopt;
  }
  return *graph_.literal(value);
}

}  // namespace lockstep
