// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/deferred_collectives.h"

#include <algorithm>

#include "graph/tensor_bytes.h"

namespace lockstep {
namespace {

// The bytes of live values while each node runs: results that later nodes still read. A postponed
// collective moves its operands and results; its followers' other values stay counted at their old
// position.
class LiveBytes {
 public:
  explicit LiveBytes(const Graph& graph) : graph_(graph), changes_(graph.node_count() + 1, 0) {
    for (int id = 0; id < graph.value_count(); ++id)
      if (graph.producer({id}) && !graph.consumers({id}).empty() && !is_copy_of_state({id}))
        add_result({id}, 1);
  }

  int64_t most() const {
    int64_t live = 0, most = 0;
    for (int64_t change : changes_) most = std::max(most, live += change);
    return most;
  }

  void postpone(int meeting) { postpone(meeting, 1); }
  void leave(int meeting) { postpone(meeting, -1); }

  int64_t bytes_of(Value value) const {
    return static_cast<int64_t>(lockstep::bytes_of(graph_.type(value)));
  }

 private:
  // Keeps the operands alive until the end and no longer counts the results before the end.
  void postpone(int meeting, int64_t times) {
    for (Value operand : graph_.node(meeting).inputs())
      add(times * bytes_of(operand), last_reader(operand) + 1, graph_.node_count());
    for (Value result : graph_.node(meeting).outputs())
      if (result && !graph_.consumers(result).empty()) add_result(result, -times);
  }
  // True for a copy of a state, such as a parameter in 16 bits: an update writes it, and it is in
  // no arena. Also true for a value made only of a feed, which looks the same here.
  bool is_copy_of_state(Value value) const {
    const auto operands = graph_.producer(value)->inputs();
    return operands.size() == 1 && operands[0] && !graph_.producer(operands[0]);
  }
  int last_reader(Value value) const { return std::ranges::max(graph_.consumers(value)); }
  void add_result(Value value, int64_t times) {
    const Node maker = *graph_.producer(value);
    add(times * bytes_of(value), maker.index() + (is_in_place(maker, value) ? 1 : 0),
        last_reader(value) + 1);
  }
  // True if the result may overwrite an operand whose last reader is its maker.
  bool is_in_place(const Node& maker, Value result) const {
    const auto in = maker.inputs(), out = maker.outputs();
    const auto output = static_cast<int>(std::ranges::find(out, result) - out.begin());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i] && maker.op()->allows_alias(output, static_cast<int>(i)) &&
          graph_.producer(in[i]) && last_reader(in[i]) == maker.index() &&
          bytes_of(in[i]) >= bytes_of(result))
        return true;
    return false;
  }
  void add(int64_t bytes, int begin, int end) {
    changes_[begin] += bytes;
    changes_[end] -= bytes;
  }

  const Graph& graph_;
  std::vector<int64_t> changes_;  // changes of the live bytes, by node
};

bool is_collective_of_results(const Node& node) {
  return node.op()->collective && std::ranges::all_of(node.inputs(), [&](Value operand) {
           return node.graph().producer(operand).has_value();
         });
}

}  // namespace

std::vector<int> deferred_collectives(const Graph& graph, std::vector<int> meetings) {
  std::erase_if(meetings, [&](int node) { return !is_collective_of_results(graph.node(node)); });
  LiveBytes live(graph);
  std::ranges::stable_sort(meetings, {}, [&](int node) {
    int64_t bytes = 0;
    for (Value operand : graph.node(node).inputs()) bytes += live.bytes_of(operand);
    return bytes;
  });
  const int64_t limit = live.most() + live.most() / 6;
  std::vector<int> late;
  for (int node : meetings) {
    live.postpone(node);
    if (live.most() <= limit)
      late.push_back(node);
    else
      live.leave(node);
  }
  return late;
}

}  // namespace lockstep
