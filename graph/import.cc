#include "graph/import.h"

#include <onnx/defs/schema.h>

#include <map>

#include "graph/onnx.h"

namespace lockstep {
namespace {

// Operands before users. ONNX demands that order of files, yet tools write others.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const std::set<std::string>& given) {
  std::map<std::string, int> producer;
  for (int i = 0; i < proto.node_size(); ++i)
    for (const std::string& name : proto.node(i).output())
      if (!name.empty())
        check(producer.emplace(name, i).second && !given.count(name),
              "two nodes, or a node and an ", "input, make the value '", name, "'");
  std::vector<int> order;
  std::vector<char> state(proto.node_size(), 0);  // 0 unseen, 1 under way, 2 done
  std::vector<std::pair<int, int>> stack;         // node, next input
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
        check(name.empty() || given.count(name), "node '",
              node.name().empty() ? node.output(0) : node.name(), "' (", node.op_type(),
              ") reads '", name, "', which nothing makes");
      } else if (state[found->second] == 1) {
        std::string cycle;
        for (const auto& [on_stack, unused] : stack)
          cycle += proto.node(on_stack).output(0) + " -> ";
        fail("the graph has a cycle: ", cycle, name);
      } else if (state[found->second] == 0) {
        state[found->second] = 1;
        stack.push_back({found->second, 0});
      }
    }
  }
  return order;
}

void import_state(const onnx::TensorProto& tensor, const ImportOptions& options, Graph& graph) {
  graph.input(tensor.name(), {static_cast<DType>(tensor.data_type()),
                              Shape(tensor.dims().begin(), tensor.dims().end())});
  if (options.values && !options.values->count(tensor.name()))
    options.values->emplace(tensor.name(), from_proto(tensor, options.directory, tensor.name()));
}

void list_unknown(const onnx::GraphProto& proto, const OpSet& ops,
                  std::map<std::string, std::vector<std::string>>& unknown) {
  for (const auto& node : proto.node()) {
    std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (!ops.find(domain, node.op_type()))
      unknown[domain.empty() ? node.op_type() : domain + "." + node.op_type()].push_back(
          node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
  }
}

}  // namespace

Graph import_graph(const onnx::GraphProto& proto, const std::string& name,
                   const ImportOptions& options) {
  Graph graph(options.ops, name);
  std::set<std::string> given;
  auto add_initializer = [&](const onnx::TensorProto& tensor) {
    if (!given.insert(tensor.name()).second) return;
    if (options.states.count(tensor.name()))
      import_state(tensor, options, graph);
    else
      graph.constant(tensor.name(), from_proto(tensor, options.directory, tensor.name()));
  };
  for (const auto& tensor : proto.initializer()) add_initializer(tensor);
  std::set<std::string> used;
  for (const auto& node : proto.node()) used.insert(node.input().begin(), node.input().end());
  for (const auto* tensor : options.outer)
    if (used.count(tensor->name()) && options.states.count(tensor->name()))
      add_initializer(*tensor);
  for (const auto& input : proto.input()) {
    if (!given.insert(input.name()).second) continue;
    check(input.type().has_tensor_type(), "input '", input.name(), "' is no tensor");
    graph.input(input.name(), from_proto(input.type()));
  }
  for (int index : sorted_nodes(proto, given)) {
    onnx::NodeProto node = proto.node(index);
    if (node.domain() == "ai.onnx") node.clear_domain();
    graph.adopt(std::move(node));
  }
  for (const auto& output : proto.output()) graph.output(graph.at(output.name()));
  return graph;
}

void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops) {
  std::map<std::string, std::vector<std::string>> unknown;
  list_unknown(proto.graph(), ops, unknown);
  for (const auto& info : proto.training_info()) {
    list_unknown(info.initialization(), ops, unknown);
    list_unknown(info.algorithm(), ops, unknown);
  }
  if (unknown.empty()) return;
  std::string text;
  for (const auto& [op, nodes] : unknown) {
    text += join("\n  ", op, " (", nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ");
    for (std::size_t i = 0; i < nodes.size() && i < 5; ++i) text += (i > 0 ? ", " : "") + nodes[i];
    text += nodes.size() > 5 ? ", ..)" : ")";
  }
  fail("operators that Lockstep does not have:", text);
}

void check_unchanged_operators(const onnx::GraphProto& proto, int64_t version,
                               const std::string& path) {
  if (version == kOpset) return;
  for (const auto& node : proto.node()) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") continue;
    auto* theirs = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), "");
    auto* ours = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(kOpset), "");
    check(theirs && ours && theirs->since_version() == ours->since_version(), path, ": operator ",
          node.op_type(), " of opset ", version, " is not the one of opset ", kOpset,
          "; convert the model with onnx.version_converter first");
  }
}

}  // namespace lockstep
