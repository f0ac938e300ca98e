// SPDX-License-Identifier: Apache-2.0
#include "graph/import.h"

#include <map>

#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/opset/newer_opsets.h"
#include "graph/opset/sequences.h"
#include "graph/order.h"

namespace lockstep {
namespace {

void import_state(const onnx::TensorProto& tensor, const ImportOptions& options, Graph& graph) {
  graph.input(tensor.name(), {static_cast<DType>(tensor.data_type()),
                              Shape(tensor.dims().begin(), tensor.dims().end())});
  if (options.values && !options.values->count(tensor.name()))
    options.values->emplace(tensor.name(), from_proto(tensor, options.place, tensor.name()));
}

// Returns the contents of a Constant node, from any of its attributes.
Literal constant_of(const onnx::NodeProto& node) {
  const std::string name = node.output_size() > 0 ? node.output(0) : node.name();
  AttributeReader reader = reader_of(name, node);
  if (reader.has("value")) return reader.literal("value");
  if (reader.has("value_int")) return Literal::scalar(reader.integer("value_int", 0));
  if (reader.has("value_float")) return Literal::scalar(reader.number("value_float", 0));
  if (reader.has("value_ints")) return Literal::vector(reader.integers("value_ints"));
  if (reader.has("value_floats")) {
    std::vector<float> values = reader.numbers("value_floats");
    return Literal::of<float>(values, {static_cast<int64_t>(values.size())});
  }
  throw Unsupported(join("constant '", name, "' holds neither numbers nor a dense tensor"));
}

void list_unknown(const onnx::GraphProto& proto, const OpSet& ops, int64_t opset,
                  std::map<std::string, std::vector<std::string>>& unknown) {
  for (const auto& node : proto.node()) {
    std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (domain.empty() &&
        (written_with_older(node.op_type(), opset) || SplitSequences::knows(node.op_type())))
      continue;
    if (!ops.find(domain, node.op_type()))
      unknown[domain.empty() ? node.op_type() : domain + "." + node.op_type()].push_back(
          node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
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
  Names used;
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
  SplitSequences sequences;
  for (int index : sorted_nodes(proto, given)) {
    onnx::NodeProto node;
    node.Swap(proto.mutable_node(index));
    if (node.domain() == "ai.onnx") node.clear_domain();
    // Adds the constant now, so that inference of the next nodes can use its contents.
    if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1)
      graph.constant(node.output(0), constant_of(node));
    else if (node.domain().empty() && SplitSequences::knows(node.op_type()))
      sequences.adopt(graph, std::move(node), options.opset);
    else if (node.domain().empty() &&
             (options.opset > kOpset || written_with_older(node.op_type(), options.opset)))
      adopt_newer(graph, std::move(node), options.opset);
    else
      adopt(graph, std::move(node));
  }
  for (const auto& output : proto.output()) graph.output(graph.at(output.name()));
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
