// SPDX-License-Identifier: Apache-2.0
// Pairs of nodes and values of two graphs: by name and, where names changed, by structure. A node
// is known by the name of its first result; unlike names of nodes, names of values are unique.
#pragma once

#include <vector>

#include "app/diff/replica_names.h"
#include "lockstep/graph.h"

namespace lockstep {

struct NamedGraph {
  const Graph& graph;
  const ReplicaNames& names;

  ScopedName name(Value value) const { return names.of(graph.name(value)); }
  // Of the node's first result.
  ScopedName name(const Node& node) const;
};

// The operands of two nodes, position by position.
struct Agreement {
  int agree = 0;     // known to correspond
  int conflict = 0;  // cannot correspond
  int open = 0;      // not known yet
};

class GraphMatch {
 public:
  static constexpr int kNone = -1;

  // Begins without pairs. The graphs must outlive the match.
  GraphMatch(const NamedGraph& a, const NamedGraph& b);

  const NamedGraph& a() const { return a_; }
  const NamedGraph& b() const { return b_; }
  // The partner in the other graph; kNone or `none` if there is none.
  int node_in_b(int of_a) const { return nodes_in_b_[of_a]; }
  int node_in_a(int of_b) const { return nodes_in_a_[of_b]; }
  Value value_in_b(Value of_a) const { return {of_a ? values_in_b_[of_a.id] : kNone}; }
  Value value_in_a(Value of_b) const { return {of_b ? values_in_a_[of_b.id] : kNone}; }
  int pairs() const { return pairs_; }  // of nodes

  // Pairs two nodes without partners, their results, and inputs and constants with other names at
  // the same place of both.
  void pair(int of_a, int of_b);
  // Has no effect if one has a partner.
  void pair(Value of_a, Value of_b);
  Agreement agreement(const Node& of_a, const Node& of_b) const;

 private:
  bool is_free(Value of_a, Value of_b) const {
    return values_in_b_[of_a.id] == kNone && values_in_a_[of_b.id] == kNone;
  }
  // Inputs, or constants, of the same type.
  bool may_correspond(Value of_a, Value of_b) const;

  NamedGraph a_, b_;
  std::vector<int> nodes_in_b_, nodes_in_a_;
  std::vector<int> values_in_b_, values_in_a_;
  int pairs_ = 0;
};

// Pairs all nodes and values that correspond.
GraphMatch match_graphs(const NamedGraph& a, const NamedGraph& b);

// Equal element types and dimensions. Unlike ==, an unknown dimension equals an unknown one.
bool same_type(const TensorType& a, const TensorType& b);
bool same_operator(const Node& a, const Node& b);
// Neither a node's result nor an omitted operand.
bool is_leaf(const Graph& graph, Value value);
// The first result that is not omitted.
Value first_result(const Node& node);

}  // namespace lockstep
