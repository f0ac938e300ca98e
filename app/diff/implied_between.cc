// SPDX-License-Identifier: Apache-2.0
#include "app/diff/graph_changes.h"

namespace lockstep {
namespace {

// Bounds the search for one operand, so that a graph takes no time that grows with its square. A
// longer search would say nothing more: the nodes without partners are listed anyway.
constexpr std::size_t kMostVisits = 10'000;

}  // namespace

ImpliedBetween::ImpliedBetween(const GraphMatch& match) : match_(match) {
  seen_a_.resize(static_cast<std::size_t>(match.a().graph.node_count()));
  seen_b_.resize(static_cast<std::size_t>(match.b().graph.node_count()));
}

// Near nodes come first: the nodes between two values usually are few.
template <class HasPartner>
bool ImpliedBetween::reaches(const Graph& graph, std::vector<int>& seen, Value from, Value to,
                             const HasPartner& has_partner) {
  ++search_;
  open_.clear();
  const auto visit = [&](Value value) {
    const auto maker = graph.producer(value);
    if (!maker || has_partner(maker->index()) || seen[maker->index()] == search_) return;
    seen[maker->index()] = search_;
    open_.push_back(maker->index());
  };
  visit(from);
  for (std::size_t next = 0; next < open_.size(); ++next) {
    if (next == kMostVisits) return true;
    for (Value operand : graph.node(open_[next]).inputs()) {
      if (operand == to) return true;
      if (operand) visit(operand);
    }
  }
  return false;
}

bool ImpliedBetween::operator()(Value of_a, Value of_b) {
  if (!of_a || !of_b) return false;
  const Graph &a = match_.a().graph, &b = match_.b().graph;
  const Value in_b = match_.value_in_b(of_a), in_a = match_.value_in_a(of_b);
  if (in_b && in_a) return false;
  // Both sides compute the value by nodes of their own.
  if (!in_b && !in_a) return !is_leaf(a, of_a) || !is_leaf(b, of_b);
  if (in_b)
    return reaches(b, seen_b_, of_b, in_b,
                   [&](int node) { return match_.node_in_a(node) != GraphMatch::kNone; });
  return reaches(a, seen_a_, of_a, in_a,
                 [&](int node) { return match_.node_in_b(node) != GraphMatch::kNone; });
}

}  // namespace lockstep
