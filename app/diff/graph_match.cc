// SPDX-License-Identifier: Apache-2.0
#include "app/diff/graph_match.h"

#include <algorithm>

namespace lockstep {

bool same_type(const TensorType& a, const TensorType& b) {
  const auto same = [](const Dim& x, const Dim& y) {
    return x.size() == y.size() && x.symbol() == y.symbol();
  };
  return a.dtype == b.dtype && a.ranked == b.ranked &&
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), same);
}

bool same_operator(const Node& a, const Node& b) {
  return a.type() == b.type() && a.domain() == b.domain();
}

bool is_leaf(const Graph& graph, Value value) { return value && !graph.producer(value); }

Value first_result(const Node& node) {
  for (Value output : node.outputs())
    if (output) return output;
  return none;
}

ScopedName NamedGraph::name(const Node& node) const {
  const Value result = first_result(node);
  return result ? name(result) : names.of(node.name());
}

GraphMatch::GraphMatch(const NamedGraph& a, const NamedGraph& b)
    : a_(a),
      b_(b),
      nodes_in_b_(static_cast<std::size_t>(a.graph.node_count()), kNone),
      nodes_in_a_(static_cast<std::size_t>(b.graph.node_count()), kNone),
      values_in_b_(static_cast<std::size_t>(a.graph.value_count()), kNone),
      values_in_a_(static_cast<std::size_t>(b.graph.value_count()), kNone) {}

bool GraphMatch::may_correspond(Value of_a, Value of_b) const {
  return is_leaf(a_.graph, of_a) && is_leaf(b_.graph, of_b) &&
         (a_.graph.literal(of_a) == nullptr) == (b_.graph.literal(of_b) == nullptr) &&
         same_type(a_.graph.type(of_a), b_.graph.type(of_b));
}

void GraphMatch::pair(Value of_a, Value of_b) {
  if (!of_a || !of_b || !is_free(of_a, of_b)) return;
  values_in_b_[of_a.id] = of_b.id;
  values_in_a_[of_b.id] = of_a.id;
}

void GraphMatch::pair(int of_a, int of_b) {
  nodes_in_b_[of_a] = of_b;
  nodes_in_a_[of_b] = of_a;
  ++pairs_;
  const Node a = a_.graph.node(of_a), b = b_.graph.node(of_b);
  for (std::size_t k = 0; k < std::min(a.outputs().size(), b.outputs().size()); ++k)
    pair(a.outputs()[k], b.outputs()[k]);
  for (std::size_t k = 0; k < std::min(a.inputs().size(), b.inputs().size()); ++k) {
    const Value x = a.inputs()[k], y = b.inputs()[k];
    if (x && y && is_free(x, y) && may_correspond(x, y)) pair(x, y);
  }
}

Agreement GraphMatch::agreement(const Node& of_a, const Node& of_b) const {
  Agreement found;
  const auto inputs_a = of_a.inputs(), inputs_b = of_b.inputs();
  for (std::size_t k = 0; k < std::max(inputs_a.size(), inputs_b.size()); ++k) {
    const Value x = k < inputs_a.size() ? inputs_a[k] : none;
    const Value y = k < inputs_b.size() ? inputs_b[k] : none;
    if (!x && !y) continue;
    if (!x || !y)
      ++found.conflict;
    else if (value_in_b(x) == y)
      ++found.agree;
    else if (!is_free(x, y))
      ++found.conflict;
    else if (is_leaf(a_.graph, x) || is_leaf(b_.graph, y))
      ++(may_correspond(x, y) ? found.open : found.conflict);
    else
      ++found.open;
  }
  return found;
}

}  // namespace lockstep
