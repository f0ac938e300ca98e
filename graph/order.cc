// SPDX-License-Identifier: Apache-2.0
#include "graph/order.h"

#include <utility>

#include "graph/onnx.h"

namespace lockstep {
namespace {

using Stack = std::vector<std::pair<int, int>>;  // node, next input

// Returns the cycle from `first`, which is on the stack, as text. Cuts a long cycle.
std::string cycle_text(const onnx::GraphProto& proto, const Stack& stack, int first) {
  constexpr std::size_t kMost = 20;
  std::size_t at = 0;
  while (stack[at].first != first) ++at;
  const bool cut = stack.size() - at > kMost;
  std::string text;
  for (std::size_t end = cut ? at + kMost : stack.size(); at < end; ++at)
    text += label_of(proto.node(stack[at].first)) + " -> ";
  return cut ? text + ".. -> " : text;
}

// Names that a node reads beside its operands, by node. Few nodes have subgraphs.
std::unordered_map<int, std::vector<std::string>> captured_by_node(const onnx::GraphProto& proto) {
  std::unordered_map<int, std::vector<std::string>> all;
  for (int i = 0; i < proto.node_size(); ++i)
    if (const Names captured = captured_names(proto.node(i)); !captured.empty())
      all[i].assign(captured.begin(), captured.end());
  return all;
}

}  // namespace

Names captured_names(const onnx::NodeProto& node) {
  Names captured;
  for (const auto& attribute : node.attribute())
    if (attribute.type() == onnx::AttributeProto::GRAPH)
      captured.merge(captured_names(attribute.g()));
  return captured;
}

Names captured_names(const onnx::GraphProto& subgraph) {
  Names captured, made;
  for (const auto& input : subgraph.input()) made.insert(input.name());
  for (const auto& tensor : subgraph.initializer()) made.insert(tensor.name());
  for (const auto& node : subgraph.node()) {
    made.insert(node.output().begin(), node.output().end());
    captured.insert(node.input().begin(), node.input().end());
    captured.merge(captured_names(node));
  }
  for (const auto& output : subgraph.output()) captured.insert(output.name());
  for (const std::string& name : made) captured.erase(name);
  captured.erase("");
  return captured;
}

std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given) {
  std::unordered_map<std::string_view, int> producer;
  producer.reserve(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    for (const std::string& name : proto.node(i).output())
      if (!name.empty())
        check(producer.emplace(name, i).second && !given.count(name),
              "two nodes, or a node and an input, produce the value '", name, "'");
  const auto captured = captured_by_node(proto);
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
      const auto others = captured.find(index);
      const int count = others == captured.end() ? 0 : static_cast<int>(others->second.size());
      if (next == node.input_size() + count) {
        state[index] = 2;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      const int at = next++;
      const std::string& name =
          at < node.input_size() ? node.input(at) : others->second[at - node.input_size()];
      auto found = producer.find(name);
      if (found == producer.end()) {
        check(name.empty() || given.count(name), "node '", label_of(node), "' (", node.op_type(),
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
