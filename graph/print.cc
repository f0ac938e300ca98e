// SPDX-License-Identifier: Apache-2.0
#include "graph/print.h"

#include <iomanip>
#include <map>
#include <set>

#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

std::string value_text(const Graph& graph, Value value) {
  return value ? printable(graph.name(value)) : "-";
}

std::string operator_text(const Node& node) {
  return printable(node.domain().empty() ? node.type() : node.domain() + "." + node.type());
}

// A dimension's name may contain any characters.
std::string type_text(const TensorType& type) { return printable(text_of(type)); }

void print_node(std::ostream& out, const Node& node, const PrintOptions& options) {
  const Graph& graph = node.graph();
  out << "  ";
  bool first = true;
  for (Value output : node.outputs()) {
    out << (first ? "" : ", ") << value_text(graph, output);
    first = false;
  }
  out << " = " << operator_text(node) << "(";
  first = true;
  for (Value input : node.inputs()) {
    out << (first ? "" : ", ") << value_text(graph, input);
    first = false;
  }
  out << ")";
  std::string attributes;
  for (const std::string& text : node.attribute_texts())
    if (text.rfind("__", 0) != 0) attributes += (attributes.empty() ? "" : " ") + printable(text);
  if (!attributes.empty()) out << " {" << attributes << "}";
  out << " :";
  for (Value output : node.outputs())
    if (output) out << " " << type_text(graph.type(output));
  if (node.replica() != kEveryReplica) out << " @" << node.replica();
  if (options.where && !node.where().empty()) out << "  # " << printable(node.where());
  out << "\n";
}

}  // namespace

std::string text_of(const Graph& graph, const PrintOptions& options) {
  std::ostringstream out;
  out << "graph " << graph.name() << "\n";
  // Sorted, since a file keeps no order between inputs and state.
  std::map<std::string, std::string> inputs, constants;
  for (Value value : graph.inputs())
    inputs[value_text(graph, value)] = type_text(graph.type(value));
  for (int id = 0; id < graph.value_count(); ++id)
    if (const Literal* literal = graph.literal({id}))
      constants[value_text(graph, {id})] = text_of(*literal);
  for (const auto& [name, type] : inputs) out << "  input " << name << " " << type << "\n";
  for (const auto& [name, value] : constants) out << "  constant " << name << " " << value << "\n";
  for (int index = 0; index < graph.node_count(); ++index)
    print_node(out, graph.node(index), options);
  for (Value value : graph.outputs()) out << "  output " << value_text(graph, value) << "\n";
  return out.str();
}

std::string text_of(const TrainingModel& model, const PrintOptions& options) {
  std::ostringstream out;
  out << "model of " << model.replicas << (model.replicas == 1 ? " replica\n" : " replicas\n");
  for (const State& state : model.states) {
    out << "state " << printable(state.name) << " " << name_of(state.kind) << " "
        << type_text(model.step.type(model.step.at(state.values[0]))) << ":";
    for (const std::string& value : state.values) out << " " << printable(value);
    out << "\n";
  }
  out << text_of(model.inference, options) << text_of(model.init, options)
      << text_of(model.step, options);
  for (const Binding& binding : model.initial)
    out << "initially " << printable(binding.state) << " := " << printable(binding.value) << "\n";
  for (const Binding& binding : model.updates)
    out << "then " << printable(binding.state) << " := " << printable(binding.value) << "\n";
  return out.str();
}

std::string bytes_of(const Node& node) {
  std::string bytes = join(node.domain(), ":", node.type(), "(");
  for (const auto& attribute : proto_of(node).attribute()) bytes += attribute.SerializeAsString();
  return bytes + ")";
}

std::string order_of(const TrainingModel& model) {
  const Graph& graph = model.step.node_count() > 0 ? model.step : model.inference;
  std::ostringstream out;
  for (int index = 0; index < graph.node_count(); ++index) {
    Node node = graph.node(index);
    out << std::right << std::setw(6) << index << "  "
        << (node.replica() == kEveryReplica ? std::string("all") : std::to_string(node.replica()))
        << "  " << std::left << std::setw(28) << printable(node.type());
    bool first = true;
    for (Value output : node.outputs()) {
      out << (first ? "" : " ") << value_text(graph, output);
      first = false;
    }
    out << "\n";
  }
  return out.str();
}

std::string names_of(const TrainingModel& model) {
  const Graph& graph = model.step.node_count() > 0 ? model.step : model.inference;
  std::ostringstream out;
  std::set<std::string> seen;
  const auto print = [&](const std::string& name) {
    if (!name.empty() && seen.insert(name).second) out << printable(name) << "\n";
  };
  for (Value value : graph.inputs()) print(graph.name(value));
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    print(node.name());
    for (Value output : node.outputs())
      if (output) print(graph.name(output));
  }
  return out.str();
}

}  // namespace lockstep
