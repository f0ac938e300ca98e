// SPDX-License-Identifier: Apache-2.0
#include "graph/import.h"

#include <map>
#include <string_view>
#include <unordered_set>

#include "graph/flow/importer.h"
#include "graph/flow/sequences.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/opset/newer_opsets.h"
#include "graph/opset/updates.h"
#include "graph/order.h"
#include "graph/passes/prune.h"

namespace lockstep {
namespace {

void import_state(const onnx::TensorProto& tensor, const ImportOptions& options, Graph& graph) {
  graph.input(tensor.name(), {static_cast<DType>(tensor.data_type()),
                              Shape(tensor.dims().begin(), tensor.dims().end())});
  if (options.values && !options.values->count(tensor.name()))
    options.values->emplace(tensor.name(), from_proto(tensor, options.place, tensor.name()));
}

// True for operators that the converter of older files replaces.
bool converted(const std::string& type, int64_t opset) {
  return (type == "Upsample" && opset < 10) || (type == "Scatter" && opset < 11);
}

void list_unknown(const onnx::GraphProto& proto, const OpSet& ops, int64_t opset,
                  std::map<std::string, std::vector<std::string>>& unknown) {
  for (const auto& node : proto.node()) {
    std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (domain.empty() &&
        (written_with_older(node.op_type(), opset) || converted(node.op_type(), opset) ||
         is_of_sequences(node.op_type()) || is_control_flow(node.op_type())))
      continue;
    if (is_update(domain, node.op_type())) continue;
    if (!ops.find(domain, node.op_type()))
      unknown[domain.empty() ? node.op_type() : domain + "." + node.op_type()].push_back(
          label_of(node));
  }
}

bool contains_flow(const onnx::GraphProto& proto) {
  for (const auto& node : proto.node())
    if (node.domain().empty() || node.domain() == "ai.onnx")
      if (is_control_flow(node.op_type()) || is_of_sequences(node.op_type())) return true;
  return false;
}

void check_unknown(const std::map<std::string, std::vector<std::string>>& unknown, int64_t opset) {
  if (unknown.empty()) return;
  std::string text;
  for (const auto& [op, nodes] : unknown) {
    text += join("\n  ", op, " (", nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ");
    for (std::size_t i = 0; i < nodes.size() && i < 5; ++i) text += (i > 0 ? ", " : "") + nodes[i];
    text += nodes.size() > 5 ? ", ..)" : ")";
  }
  throw Unsupported(join("operators that Lockstep does not have",
                         opset > kOpset ? join(" (the file is of opset ", opset, ")") : "", ":",
                         text));
}

// Declares the outputs. Gives an output that is a constant or has another name a node.
void add_outputs(const onnx::GraphProto& proto, const FlowImporter& importer,
                 const FlowImporter::Scope& scope, Graph& graph) {
  for (const auto& output : proto.output()) {
    const std::string& name = output.name();
    const Value value = importer.tensor(name, scope, "output '" + name + "'");
    if (graph.name(value) == name) {
      graph.output(value);
      continue;
    }
    graph.output(graph.add_value({.type = "Identity", .inputs = {value}, .output_names = {name}},
                                 Site(name)));
  }
}

}  // namespace

Graph import_graph(onnx::GraphProto& proto, const std::string& name, const ImportOptions& options) {
  Graph graph(options.ops, name);
  Names given;
  auto add_initializer = [&](const onnx::TensorProto& tensor) {
    check(given.insert(tensor.name()).second, "two initializers are called '", tensor.name(), "'");
    if (options.states.count(tensor.name()))
      import_state(tensor, options, graph);
    else
      graph.constant(tensor.name(), from_proto(tensor, options.place, tensor.name()));
  };
  for (const auto& tensor : proto.initializer()) add_initializer(tensor);
  std::unordered_set<std::string_view> used;
  if (!options.outer.empty())
    for (const auto& node : proto.node()) used.insert(node.input().begin(), node.input().end());
  for (const auto* tensor : options.outer)
    if (used.count(tensor->name()) && !given.count(tensor->name()) &&
        options.states.count(tensor->name()))
      add_initializer(*tensor);
  for (const auto& input : proto.input()) {
    if (!given.insert(input.name()).second) continue;
    supported(input.type().has_tensor_type(), "input '", input.name(), "' is not a tensor");
    graph.input(input.name(), from_proto(input.type()));
  }
  FlowImporter importer(graph, options);
  FlowImporter::Scope scope;
  const bool has_flow = contains_flow(proto);
  if (has_flow) {
    importer.reserve(proto);
    for (const auto& tensor : proto.initializer())
      if (Value value = graph.find(tensor.name()); value && is_floating(graph.dtype(value)))
        importer.add_trained(value);
  }
  for (int index : sorted_nodes(proto, given)) {
    onnx::NodeProto node;
    node.Swap(proto.mutable_node(index));
    importer.add(std::move(node), scope);
  }
  add_outputs(proto, importer, scope, graph);
  // Drops nodes that computed conditions and positions.
  if (has_flow) prune(graph, graph.outputs());
  return graph;
}

void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops) {
  std::map<std::string, std::vector<std::string>> unknown;
  const int64_t opset = opset_of(proto);
  list_unknown(proto.graph(), ops, opset, unknown);
  for (const auto& info : proto.training_info()) {
    list_unknown(info.initialization(), ops, opset, unknown);
    list_unknown(info.algorithm(), ops, opset, unknown);
  }
  check_unknown(unknown, opset);
}

void check_known_operators(const onnx::GraphProto& proto, const OpSet& ops, int64_t opset) {
  std::map<std::string, std::vector<std::string>> unknown;
  list_unknown(proto, ops, opset, unknown);
  check_unknown(unknown, opset);
}

int64_t opset_of(const onnx::ModelProto& proto) {
  supported(proto.ir_version() <= kNewestIrVersion, "IR version ", proto.ir_version(),
            " is newer than ", kNewestIrVersion, ", the newest that this version reads");
  int64_t version = -1;
  for (const auto& import : proto.opset_import()) {
    if (import.domain() == kOwnDomain)
      check(import.version() == kOwnOpset, "version ", import.version(), " of ", kOwnDomain,
            " is not known");
    if (import.domain().empty() || import.domain() == "ai.onnx") version = import.version();
  }
  if (version < 0 && proto.ir_version() < 3) version = 1;  // older files name no opset
  supported(version <= kNewestOpset, "opset ", version, " is newer than ", kNewestOpset,
            ", the newest that this version reads");
  return version;
}

}  // namespace lockstep
