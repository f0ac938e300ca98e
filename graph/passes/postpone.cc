#include "graph/passes/postpone.h"

#include <algorithm>
#include <numeric>

namespace lockstep {

void postpone_what_follows(Graph& graph, const std::function<bool(const Node&)>& communicates) {
  const auto count = static_cast<std::size_t>(graph.node_count());
  std::vector<bool> communication(count), follows(count, false), leads(count, false);
  for (std::size_t i = 0; i < count; ++i)
    communication[i] = communicates(graph.node(static_cast<int>(i)));
  for (std::size_t i = 0; i < count; ++i)
    for (Value input : graph.node(static_cast<int>(i)).inputs())
      if (auto maker = input ? graph.producer(input) : std::nullopt) {
        const auto before = static_cast<std::size_t>(maker->index());
        if (communication[before] || follows[before]) follows[i] = true;
      }
  for (std::size_t i = count; i-- > 0;)
    for (Value output : graph.node(static_cast<int>(i)).outputs())
      if (output)
        for (int user : graph.consumers(output)) {
          const auto after = static_cast<std::size_t>(user);
          if (communication[after] || leads[after]) leads[i] = true;
        }
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](int index) {
    const auto i = static_cast<std::size_t>(index);
    return !follows[i] || leads[i] || communication[i];
  });
  graph.reorder(order);
}

}  // namespace lockstep
