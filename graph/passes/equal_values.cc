// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/equal_values.h"

#include <string>
#include <unordered_map>

#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/placement.h"

namespace lockstep {
namespace {

void append_number(std::string& text, int64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}
// Appends the length first, so that two texts in a row cannot equal another pair.
void append_text(std::string& text, const std::string& part) {
  append_number(text, static_cast<int64_t>(part.size()));
  text += part;
}

class Numbers {
 public:
  Numbers(const Graph& graph, const std::vector<std::vector<Value>>& alike)
      : graph_(graph), of_(graph.value_count(), kNone) {
    for (const std::vector<Value>& values : alike) {
      const int number = next_++;
      for (Value value : values) of(value) = number;
    }
  }

  std::vector<int> run() {
    for (int id = 0; id < graph_.value_count(); ++id)
      if (!graph_.producer({id})) number_leaf({id});
    for (int i = 0; i < graph_.node_count(); ++i) number_results(graph_.node(i));
    return std::move(of_);
  }

 private:
  static constexpr int kNone = -1;

  int& of(Value value) { return of_[value.id]; }

  void number_leaf(Value value) {
    if (of(value) != kNone) return;
    const Literal* literal = graph_.literal(value);
    of(value) = literal ? number_of(text_of_constant(*literal), 1) : next_++;
  }

  // Large constants are compared by address: copies of a node share their bytes.
  static std::string text_of_constant(const Literal& literal) {
    constexpr std::size_t kLarge = 4096;
    const std::span<const std::byte> bytes = literal.bytes();
    std::string text = join("constant ", literal.type(), " ");
    if (bytes.size() > kLarge)
      append_number(text, reinterpret_cast<std::intptr_t>(bytes.data()));
    else
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text;
  }

  void number_results(const Node& node) {
    const Op* op = node.op();
    const auto outputs = node.outputs();
    if (op->random || op->exchange) {
      for (Value output : outputs)
        if (output) of(output) = next_++;
    } else if (op->collective) {  // all replicas get the same result
      const int number = number_of(text_of_node(node), 1);
      for (Value output : outputs)
        if (output) of(output) = number;
    } else if (op->copies) {
      of(outputs[0]) = of(node.inputs()[0]);
    } else {
      int number = number_of(text_of_node(node), static_cast<int>(outputs.size()));
      for (Value output : outputs) {
        if (output) of(output) = number;
        ++number;
      }
    }
  }

  // Returns everything that determines a node's results. Placement does not.
  std::string text_of_node(const Node& node) {
    std::string text = "node ";
    append_text(text, node.domain());
    append_text(text, node.type());
    append_number(text, static_cast<int64_t>(node.outputs().size()));
    for (Value input : node.inputs()) append_number(text, input ? of(input) : kNone);
    for (const auto& attribute : proto_of(node).attribute())
      if (!is_placement(attribute)) append_text(text, attribute.SerializeAsString());
    return text;
  }

  int number_of(const std::string& text, int count) {
    const auto [known, is_new] = known_.emplace(text, next_);
    if (is_new) next_ += count;
    return known->second;
  }

  const Graph& graph_;
  std::vector<int> of_;
  std::unordered_map<std::string, int> known_;  // the first result's number
  int next_ = 0;
};

}  // namespace

std::vector<int> equal_values(const Graph& graph, const std::vector<std::vector<Value>>& alike) {
  return Numbers(graph, alike).run();
}

}  // namespace lockstep
