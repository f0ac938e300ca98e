// SPDX-License-Identifier: Apache-2.0
#include "graph/order.h"

#include <utility>

#include "graph/onnx.h"

namespace lockstep {
namespace {

using Stack = std::vector<std::pair<int, int>>;  // node, next input

const std::string& called(const onnx::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

// Returns the cycle from `first`, which is on the stack, as text. Cuts a long cycle.
std::string cycle_text(const onnx::GraphProto& proto, const Stack& stack, int first) {
  constexpr std::size_t kMost = 20;
  std::size_t at = 0;
  while (stack[at].first != first) ++at;
  const bool cut = stack.size() - at > kMost;
  std::string text;
  for (std::size_t end = cut ? at + kMost : stack.size(); at < end; ++at)
    text += called(proto.node(stack[at].first)) + " -> ";
  return cut ? text + ".. -> " : text;
}

}  // namespace

std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given) {
  std::unordered_map<std::string_view, int> producer;
  producer.reserve(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    for (const std::string& name : proto.node(i).output())
      if (!name.empty())
        check(producer.emplace(name, i).second && !given.count(name),
              "two nodes, or a node and an input, produce the value '", name, "'");
  std::vector<int> order;
  std::vector<char> state(proto.node_size(), 0);  // 0 unseen, 1 under way, 2 done
  Stack stack;
  for (int start = 0; start < proto.node_size(); ++start) {
    if (state[start] != 0) continue;
    stack.push_back({start, 0});
    state[start] = 1;
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      const onnx::NodeProto& node = proto.node(index);
      if (next == node.input_size()) {
        state[index] = 2;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      const std::string& name = node.input(next++);
      auto found = producer.find(name);
      if (found == producer.end()) {
        check(name.empty() || given.count(name), "node '", called(node), "' (", node.op_type(),
              ") reads '", name, "', which no node or input produces");
      } else if (state[found->second] == 1) {
        fail("the graph has a cycle: ", cycle_text(proto, stack, found->second), name);
      } else if (state[found->second] == 0) {
        state[found->second] = 1;
        stack.push_back({found->second, 0});
      }
    }
  }
  return order;
}

}  // namespace lockstep
