// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/importer.h"

#include "graph/attribute_reader.h"
#include "graph/flow/sequences.h"
#include "graph/onnx.h"
#include "graph/opset/newer_opsets.h"
#include "graph/opset/updates.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

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

}  // namespace

bool is_control_flow(const std::string& type) {
  return type == "If" || type == "Loop" || type == "Scan" || type == "SequenceMap";
}

const onnx::GraphProto* graph_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name && attribute.type() == onnx::AttributeProto::GRAPH)
      return &attribute.g();
  return nullptr;
}

FlowImporter::FlowImporter(Graph& graph, const ImportOptions& options)
    : graph_(graph), options_(options), conditions_(graph, options.folder) {}

std::string FlowImporter::described(const onnx::NodeProto& node) {
  return printable(label_of(node) + " (" + node.op_type() + ")");
}

void FlowImporter::reserve(const onnx::GraphProto& main) {
  for (const auto& node : main.node())
    for (const std::string& name : node.output()) reserved_.insert(name);
}

std::string FlowImporter::fresh_name(const std::string& base) {
  std::string name = base;
  for (int suffix = 1; graph_.find(name) || reserved_.count(name); ++suffix)
    name = join(base, "_", suffix);
  return name;
}

FlowValue FlowImporter::find(const std::string& name, const Scope& scope) const {
  for (const Scope* at = &scope; at; at = at->outer)
    if (auto found = at->values.find(name); found != at->values.end()) return found->second;
  return {.tensor = graph_.at(name)};
}

Value FlowImporter::tensor(const std::string& name, const Scope& scope,
                           const std::string& node) const {
  const FlowValue value = find(name, scope);
  supported(!value.sequence && !value.absent, node, ": its operand '", name, "' is ",
            value.absent ? "an empty optional" : "a sequence", ", not a tensor");
  return value.tensor;
}

void FlowImporter::localise(onnx::NodeProto& node, const Scope& scope) {
  if (scope.outer || !scope.values.empty()) {
    const std::string description = described(node);
    for (std::string& name : *node.mutable_input())
      if (!name.empty()) name = graph_.name(tensor(name, scope, description));
  }
  if (!scope.outer) return;
  node.set_name(scope.prefix + label_of(node));
  for (std::string& name : *node.mutable_output())
    if (!name.empty()) name = fresh_name(scope.prefix + name);
}

void FlowImporter::add(onnx::NodeProto node, Scope& scope) {
  if (node.domain() == "ai.onnx") node.clear_domain();
  if (scope.in_loop) count_unrolled(node);
  if (node.domain().empty()) {
    const std::string& type = node.op_type();
    if (type == "If") return add_if(node, scope);
    if (type == "Loop") return add_loop(node, scope);
    if (type == "Scan") return add_scan(node, scope);
    if (type == "SequenceMap") return add_map(node, scope);
    if (is_of_sequences(type)) return add_sequence(std::move(node), scope);
    if (type == "Identity" && node.input_size() == 1 && node.output_size() == 1 &&
        !node.input(0).empty())
      if (const FlowValue value = find(node.input(0), scope); !value.tensor) {
        scope.values[node.output(0)] = value;
        return;
      }
  }
  // A result of the main graph keeps its name.
  std::vector<std::string> results, made;
  if (scope.outer) results.assign(node.output().begin(), node.output().end());
  localise(node, scope);
  if (scope.outer) made.assign(node.output().begin(), node.output().end());
  // Adds a constant now, so that inference of the next nodes can use its contents.
  if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1)
    graph_.constant(node.output(0), constant_of(node));
  else if (is_update(node.domain(), node.op_type()))
    adopt_update(graph_, std::move(node));
  else if (node.domain().empty() &&
           (options_.opset > kOpset || written_with_older(node.op_type(), options_.opset)))
    adopt_newer(graph_, std::move(node), options_.opset);
  else
    adopt(graph_, std::move(node));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].empty()) scope.values[results[i]] = {.tensor = graph_.at(made[i])};
}

Value FlowImporter::initializer(const onnx::TensorProto& tensor, const Scope& scope) {
  auto [known, is_new] = initializers_.emplace(&tensor, none);
  if (!is_new) return known->second;
  known->second =
      graph_.constant(fresh_name(graph_.find(tensor.name()) || reserved_.count(tensor.name())
                                     ? scope.prefix + tensor.name()
                                     : tensor.name()),
                      from_proto(tensor, options_.place, tensor.name()));
  if (is_floating(graph_.dtype(known->second))) conditions_.add_trained(known->second);
  if (options_.inner) options_.inner->push_back(graph_.name(known->second));
  return known->second;
}

std::vector<FlowValue> FlowImporter::add_graph(const onnx::GraphProto& graph, Scope& scope) {
  check_known_operators(graph, options_.ops, options_.opset);
  Names given = captured_names(graph);
  for (const auto& input : graph.input()) given.insert(input.name());
  for (const auto& tensor : graph.initializer())
    if (given.insert(tensor.name()).second)
      scope.values[tensor.name()] = {.tensor = initializer(tensor, scope)};
  for (int index : sorted_nodes(graph, given)) add(graph.node(index), scope);
  std::vector<FlowValue> outputs;
  for (const auto& output : graph.output()) outputs.push_back(find(output.name(), scope));
  return outputs;
}

void FlowImporter::bind(const std::string& name, FlowValue value, Scope& scope, int made_from) {
  if (name.empty()) return;
  // A result of the main graph gets its own name if the value is new and has no such name yet.
  const bool renamed = !scope.outer && value.tensor && value.tensor.id >= made_from &&
                       graph_.producer(value.tensor) && !graph_.literal(value.tensor) &&
                       !reserved_.count(graph_.name(value.tensor)) && !graph_.find(name);
  if (renamed) graph_.rename(value.tensor, name);
  scope.values[name] = std::move(value);
}

void FlowImporter::add_sequence(onnx::NodeProto node, Scope& scope) {
  const std::string name = node.output_size() > 0 ? node.output(0) : "";
  std::vector<FlowValue> inputs;
  for (std::string& input : *node.mutable_input()) {
    inputs.push_back(input.empty() ? FlowValue{.absent = true} : find(input, scope));
    input = inputs.back().tensor ? graph_.name(inputs.back().tensor) : "";
  }
  const std::string label = scope.prefix + label_of(node);
  if (!name.empty()) node.set_output(0, fresh_name(scope.outer ? scope.prefix + name : name));
  // In the main graph the name is reserved for this node.
  if (!name.empty() && !scope.outer && !graph_.find(name)) node.set_output(0, name);
  if (scope.outer) node.set_name(label);
  const int made_from = graph_.value_count();
  NewerNode written(graph_, std::move(node), options_.opset);
  bind(name, of_sequences(written, inputs), scope, made_from);
}

}  // namespace lockstep
