// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/diff/graph_changes.h"
#include "app/diff/order_of.h"

namespace lockstep {

std::vector<bool> longest_increasing(const std::vector<int>& positions) {
  std::vector<std::size_t> tails;  // by length: the subsequence that ends with the least position
  std::vector<std::size_t> before(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto place =
        std::lower_bound(tails.begin(), tails.end(), positions[i],
                         [&](std::size_t at, int position) { return positions[at] < position; });
    before[i] = place == tails.begin() ? i : *std::prev(place);
    if (place == tails.end())
      tails.push_back(i);
    else
      *place = i;
  }
  std::vector<bool> marked(positions.size(), false);
  if (tails.empty()) return marked;
  for (std::size_t i = tails.back();; i = before[i]) {
    marked[i] = true;
    if (before[i] == i) return marked;
  }
}

void add_order_changes(const GraphMatch& match, DiffPart part, Changes& changes) {
  const NamedGraph &a = match.a(), &b = match.b();
  std::vector<int> of_a, of_b;  // pairs, in a's order
  for (int i = 0; i < a.graph.node_count(); ++i)
    if (const int other = match.node_in_b(i); other != GraphMatch::kNone) {
      of_a.push_back(i);
      of_b.push_back(other);
    }
  const std::vector<bool> stays = longest_increasing(of_b);
  if (std::find(stays.begin(), stays.end(), false) == stays.end()) return;
  std::vector<bool> stays_in_b(static_cast<std::size_t>(b.graph.node_count()), false);
  for (std::size_t k = 0; k < of_b.size(); ++k)
    stays_in_b[static_cast<std::size_t>(of_b[k])] = stays[k];
  // The last node before each node of b that keeps its place.
  std::vector<int> last_in_b(static_cast<std::size_t>(b.graph.node_count()), GraphMatch::kNone);
  for (int i = 0, last = GraphMatch::kNone; i < b.graph.node_count(); ++i) {
    last_in_b[static_cast<std::size_t>(i)] = last;
    if (stays_in_b[static_cast<std::size_t>(i)]) last = i;
  }
  const auto after = [](const NamedGraph& graph, int node) {
    return node == GraphMatch::kNone
               ? std::string("at the beginning")
               : "after " + std::string(graph.name(graph.graph.node(node)).rest);
  };
  int last_in_a = GraphMatch::kNone;
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    if (stays[k]) {
      last_in_a = of_a[k];
      continue;
    }
    const Node node = a.graph.node(of_a[k]);
    changes.push_back({.part = part,
                       .kind = DiffKind::moved,
                       .of = node.type(),
                       .name = std::string(a.name(node).rest),
                       .what = "order",
                       .a = after(a, last_in_a),
                       .b = after(b, last_in_b[static_cast<std::size_t>(of_b[k])]),
                       .replica = node.replica(),
                       .is_node = true});
  }
}

}  // namespace lockstep
