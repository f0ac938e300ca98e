// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/postpone.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

using Marks = std::vector<bool>;  // by node

Marks marks(const Graph& graph, const NodeTest& test) {
  Marks marked;
  for (int i = 0; i < graph.node_count(); ++i) marked.push_back(test(graph.node(i)));
  return marked;
}

Marks followers_of(const Graph& graph, const Marks& marked) {
  Marks follows(marked.size(), false);
  for (std::size_t i = 0; i < marked.size(); ++i)
    for (Value input : graph.node(static_cast<int>(i)).inputs())
      if (auto maker = input ? graph.producer(input) : std::nullopt) {
        const std::size_t at = maker->index();
        if (marked[at] || follows[at]) follows[i] = true;
      }
  return follows;
}

Marks leaders_to(const Graph& graph, const Marks& marked) {
  Marks leads(marked.size(), false);
  for (std::size_t i = marked.size(); i-- > 0;)
    for (Value output : graph.node(static_cast<int>(i)).outputs())
      if (output)
        for (int user : graph.consumers(output)) {
          const std::size_t at = user;
          if (marked[at] || leads[at]) leads[i] = true;
        }
  return leads;
}

void move_to_end(Graph& graph, const Marks& moves) {
  std::vector<int> order(moves.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](int index) { return !moves[index]; });
  graph.reorder(order);
}

}  // namespace

void postpone_what_follows(Graph& graph, const NodeTest& communicates) {
  const Marks communication = marks(graph, communicates);
  const Marks follows = followers_of(graph, communication);
  const Marks leads = leaders_to(graph, communication);
  Marks moves;
  for (std::size_t i = 0; i < communication.size(); ++i)
    moves.push_back(follows[i] && !leads[i] && !communication[i]);
  move_to_end(graph, moves);
}

std::vector<int> last_communication(const Graph& graph, const NodeTest& communicates) {
  const Marks communication = marks(graph, communicates);
  const Marks leads = leaders_to(graph, communication);
  std::vector<int> last;
  for (std::size_t i = 0; i < communication.size(); ++i)
    if (communication[i] && !leads[i]) last.push_back(static_cast<int>(i));
  return last;
}

void postpone(Graph& graph, const std::vector<int>& nodes) {
  Marks moves(graph.node_count(), false);
  for (int node : nodes) moves[node] = true;
  const Marks follow = followers_of(graph, moves);
  for (std::size_t i = 0; i < moves.size(); ++i)
    if (follow[i]) moves[i] = true;
  move_to_end(graph, moves);
}

}  // namespace lockstep
