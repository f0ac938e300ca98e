// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace lockstep {

void schedule(Graph& graph, int first_appended, int first_behind_all) {
  // A node's position: (position within its replica, 0 for computation and 1 for updates). An
  // update has the position of its latest operand.
  using Key = std::tuple<int, int>;
  std::vector<Key> keys(graph.node_count());
  std::map<int, int> position;
  int end = 0;  // the largest number of computation nodes of a replica
  for (int index = 0; index < graph.node_count(); ++index) {
    Node node = graph.node(index);
    if (index < first_appended) {
      keys[index] = {position[node.replica()]++, 0};
      end = std::max(end, position[node.replica()]);
      // Shared nodes (no replica) must not come after their users on any replica.
      for (Value input : node.inputs())
        if (auto producer = input ? graph.producer(input) : std::nullopt)
          keys[index] = std::max(keys[index], keys[producer->index()]);
      continue;
    }
    Key latest{index < first_behind_all ? 0 : end, 1};
    for (Value input : node.inputs())
      if (auto producer = input ? graph.producer(input) : std::nullopt)
        latest = std::max(latest, {std::get<0>(keys[producer->index()]), 1});
    keys[index] = latest;
  }
  std::vector<int> order(graph.node_count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  graph.reorder(order);
}

}  // namespace lockstep
