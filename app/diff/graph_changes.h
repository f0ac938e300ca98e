// SPDX-License-Identifier: Apache-2.0
// The differences of two graphs: nodes, operators, attributes, operands, types, constants, names,
// order.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "app/diff/change.h"
#include "app/diff/graph_match.h"

namespace lockstep {

// Full names of inputs that are listed elsewhere, as states or feeds: `a`'s and `b`'s.
struct ListedInputs {
  std::unordered_set<std::string_view> a, b;
};

// Appends the differences. An operand that nodes of one side only come between is no difference of
// its own: the nodes are listed.
void add_graph_changes(const GraphMatch& match, DiffPart part, const ListedInputs& listed,
                       Changes& changes);

// Appends nodes that are in another order relative to most of the others, with the node that now
// comes before.
void add_order_changes(const GraphMatch& match, DiffPart part, Changes& changes);

// True if the values differ only by nodes that one side lacks.
class ImpliedBetween {
 public:
  explicit ImpliedBetween(const GraphMatch& match);
  bool operator()(Value of_a, Value of_b);

 private:
  // True if `from` is computed from `to` through nodes without partners.
  template <class HasPartner>
  bool reaches(const Graph& graph, std::vector<int>& seen, Value from, Value to,
               const HasPartner& has_partner);

  const GraphMatch& match_;
  int search_ = 0;                    // counts searches
  std::vector<int> seen_a_, seen_b_;  // by node: the last search that came by
  std::vector<int> open_;             // nodes of the search, in the order in which they were found
};

}  // namespace lockstep
