// SPDX-License-Identifier: Apache-2.0
// The members of a Graph. Nodes are ONNX's messages; beside each message stand the numbers of its
// operands and results, and beside each value its producer and its users. For graph/ only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/name_table.h"
#include "lockstep/graph.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace lockstep {

struct Inferred;

struct Graph::Members {
  struct ValueInfo {
    std::string name;
    TensorType type;
    int producer = -1;
    bool is_output = false;
    std::string declared_at;  // of an input
    std::vector<int> consumers;
    std::shared_ptr<const Literal> literal;
    std::unique_ptr<Shape> content;
    std::unique_ptr<Literal> known;  // the content, if it has no symbol
  };
  struct NodeInfo {
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    const Op* op = nullptr;
    int replica = kEveryReplica;
  };

  Members(const OpSet& ops, std::string name);
  ~Members();

  const ValueInfo& info(Value value) const;
  Value find(std::string_view name) const;
  Value at(std::string_view name) const;
  std::string scoped(std::string_view name) const;
  std::string fresh_name(const std::string& base);
  const std::string& origin(Value value) const;
  std::string origin_of(const NodeSpec& spec, const Site& site) const;

  Value new_value(std::string name, TensorType type);
  // Checks the node, infers its results and appends it. Returns its number; errors mention `where`.
  int append(onnx::NodeProto node, NodeInfo info, const std::string& where);
  Inferred infer(onnx::NodeProto& node, const NodeInfo& info) const;
  void learn_content(Value value, const Shape& content);

  auto names() const {
    return [this](int id) -> const std::string& { return values[id].name; };
  }

  const OpSet* ops;
  std::string name;
  std::string scope;
  int replica = kEveryReplica;
  std::optional<std::string> origin_set;
  std::optional<std::string> inherited_otherwise;
  std::unique_ptr<onnx::GraphProto> proto;  // holds the nodes
  std::vector<NodeInfo> nodes;
  std::vector<ValueInfo> values;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  NameTable by_name;
  std::unordered_map<std::string, int> next_suffix;
};

const onnx::NodeProto& proto_of(const Node& node);

// Adds a node read from a file, keeping its names.
Node adopt(Graph& graph, onnx::NodeProto node);

}  // namespace lockstep
