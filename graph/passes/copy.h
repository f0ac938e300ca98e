// SPDX-License-Identifier: Apache-2.0
// Copies a graph node by node and maps old values to new values. For passes that replace some
// nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

class GraphCopy {
 public:
  // Copies constants and inputs, except inputs that `takes` rejects. `from` must outlive the copy.
  explicit GraphCopy(const Graph& from, const std::function<bool(Value input)>& takes = {});

  Graph& to() { return to_; }
  Value of(Value old) const { return old ? here_[old.id] : none; }
  void set(Value old, Value made) { here_[old.id] = made; }
  std::vector<Value> of(std::span<const Value> old) const;
  // Copies the node with the new values of its operands. Types are inferred again and may differ.
  Node copy(const Node& node) { return copy(node, of(node.inputs())); }
  // Copies the node with `operands`.
  Node copy(const Node& node, const std::vector<Value>& operands);
  // Copies the node without inference. The types must be unchanged.
  void take(const Node& node);
  // Adds a replacement for other nodes, with the replica and origin of `like` and the given output
  // names.
  Node add(NodeSpec spec, const Node& like);
  // Adds a replacement for all outputs of `old`, under the same names.
  Node replace(const Node& old, NodeSpec spec);
  // Returns a name for an added value. Neither graph has the name, so no node copied later will.
  std::string fresh_name(const std::string& base) const;
  // Declares the outputs and returns the copy.
  Graph finish();
  // The new value of each old value; none if dropped.
  const std::vector<Value>& moved() const { return here_; }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<Value> here_;
};

}  // namespace lockstep
