// SPDX-License-Identifier: Apache-2.0
// Finds the partner of a node by its neighbours: the nodes that make its operands or use its
// results and have partners already.
#pragma once

#include <string_view>
#include <unordered_map>

#include "app/diff/graph_match.h"

namespace lockstep {

// Values, or nodes, by name.
using NamedIds = std::unordered_map<ScopedName, int, ScopedNameHash>;

// True for a name that an exporter or a builder numbered: "345", "Relu_12",
// "/layer1/Relu_output_0". Numbers shift if a node is added or removed before.
bool is_numbered(std::string_view name, const std::string& type);

class Neighbours {
 public:
  explicit Neighbours(const GraphMatch& match) : match_(match) {}

  // The free node of b with the operator of `node` whose operands correspond, as far as they have
  // partners; kNone if several fit equally well.
  int by_operands(const Node& node) const;
  // The free node of b with the operator of `node` whose results are used at the same place of the
  // same nodes; kNone if users disagree.
  int by_users(const Node& node) const;

 private:
  bool may_be(const Node& candidate, const Node& node) const;
  bool is_claimed(const Node& candidate, const Node& by_other_than) const;

  const GraphMatch& match_;
  mutable NamedIds values_of_a_;  // made when first asked for
};

}  // namespace lockstep
