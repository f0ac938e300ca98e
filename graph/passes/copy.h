// What passes that replace some nodes share: a graph is copied node by node, and what became of
// each value is kept.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

class GraphCopy {
 public:
  // Takes over constants and inputs, of which `takes` may leave some out. `from` must outlive it.
  explicit GraphCopy(const Graph& from, const std::function<bool(Value input)>& takes = {});

  Graph& to() { return to_; }
  Value of(Value old) const { return old ? here_[static_cast<std::size_t>(old.id)] : none; }
  void set(Value old, Value made) { here_[static_cast<std::size_t>(old.id)] = made; }
  std::vector<Value> of(std::span<const Value> old) const;
  // The node as it is, on what became of its operands, which may have other types now.
  Node copy(const Node& node) { return copy(node, of(node.inputs())); }
  // The same on these operands.
  Node copy(const Node& node, const std::vector<Value>& operands);
  // The same where they have not: nothing is inferred anew.
  void take(const Node& node);
  // A node in place of others; it stands where `like` stood, and its outputs are called as given.
  Node add(NodeSpec spec, const Node& like);
  // The same where it makes all that `old` made, under the same names.
  Node replace(const Node& old, NodeSpec spec);
  // Declares the outputs that there are.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<Value> here_;
};

}  // namespace lockstep
