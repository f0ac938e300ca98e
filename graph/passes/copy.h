// SPDX-License-Identifier: Apache-2.0
// Shared by passes that replace some nodes: copies a graph node by node and keeps the new value of
// each old one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

class GraphCopy {
 public:
  // Copies constants and inputs, except inputs rejected by `takes`. `from` must outlive it.
  explicit GraphCopy(const Graph& from, const std::function<bool(Value input)>& takes = {});

  Graph& to() { return to_; }
  Value of(Value old) const { return old ? here_[old.id] : none; }
  void set(Value old, Value made) { here_[old.id] = made; }
  std::vector<Value> of(std::span<const Value> old) const;
  // Copies the node onto the new operands, whose types may differ now.
  Node copy(const Node& node) { return copy(node, of(node.inputs())); }
  // The same on these operands.
  Node copy(const Node& node, const std::vector<Value>& operands);
  // Copies it if the types are unchanged: nothing is inferred anew.
  void take(const Node& node);
  // Adds a replacement for other nodes, with the place and origin of `like` and the given output
  // names.
  Node add(NodeSpec spec, const Node& like);
  // Adds a replacement for all outputs of `old`, under the same names.
  Node replace(const Node& old, NodeSpec spec);
  // For a value that a pass adds: neither graph has it, so no node that is copied later will.
  std::string fresh_name(const std::string& base) const;
  // Declares the outputs.
  Graph finish();
  // Each old value's new number; none: dropped.
  const std::vector<Value>& moved() const { return here_; }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<Value> here_;
};

}  // namespace lockstep
