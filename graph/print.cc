// SPDX-License-Identifier: Apache-2.0
#include "graph/print.h"

#include <iomanip>
#include <map>
#include <set>

#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/printable.h"
#include "graph/step_fetches.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongest = 160;  // metadata, in a summary

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

// A label of two lines. Names are escaped, so that no name starts another line.
std::string dot_label(const Node& node) {
  const std::string type = in_quotes(node.type()), name = in_quotes(node.name());
  return type.substr(0, type.size() - 1) + "\\n" + name.substr(1);
}

std::string scientific(double count) {
  std::ostringstream text;
  const char* unit = "";
  for (const char* next : {"k", "M", "G"}) {
    if (count < 10000) break;
    count /= 1000;
    unit = next;
  }
  text << std::setprecision(4) << count << unit;
  return text.str();
}

struct Parameter {
  std::string name;
  TensorType type;
};

// Returns the parameters among the states. A network from another tool has no states: its
// parameters are the constants of floats, except scalars, which are more likely operands.
std::vector<Parameter> parameters_of(const TrainingModel& model) {
  std::vector<Parameter> parameters;
  for (const State& state : model.states)
    if (is_parameter(state.kind))
      parameters.push_back({state.name, model.step.type(model.step.at(state.values[0]))});
  if (!model.states.empty()) return parameters;
  for (int id = 0; id < model.inference.value_count(); ++id)
    if (const Literal* literal = model.inference.literal({id});
        literal && is_floating(literal->dtype()) && !literal->dims().empty())
      parameters.push_back({model.inference.name({id}), literal->type()});
  return parameters;
}

template <class Items>
void print_list(std::ostream& out, const char* title, const TrainingModel& model,
                const Items& items) {
  std::size_t width = 22;
  for (const Replicated& item : items) width = std::max(width, item.name.size());
  for (const Replicated& item : items)
    out << std::left << std::setw(9) << title << std::setw(static_cast<int>(width) + 2)
        << printable(item.name) << type_text(model.step.type(model.step.at(item.values[0])))
        << "  x" << item.values.size() << "\n";
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

std::string summary_of(const TrainingModel& model) {
  std::ostringstream out;
  const std::vector<Parameter> parameters = parameters_of(model);
  double values = 0;
  std::size_t width = 26;
  for (const Parameter& parameter : parameters) {
    values += static_cast<double>(element_count(to_dims(parameter.type.shape)));
    width = std::max(width, parameter.name.size());
  }
  out << "replicas   " << model.replicas << "\n"
      << "nodes      " << model.inference.node_count() << " inference, " << model.init.node_count()
      << " init, " << model.step.node_count() << " step\n"
      << "parameters " << parameters.size() << " (" << scientific(values)
      << " values per replica)\n";
  if (model.step.node_count() > 0 && model.updates.empty())
    out << "updates    none: the forward pass alone\n";
  for (const State& state : model.states) width = std::max(width, state.name.size());
  auto print = [&](std::string_view kind, const Parameter& of) {
    out << "  " << std::left << std::setw(9) << kind << std::setw(static_cast<int>(width) + 2)
        << printable(of.name) << type_text(of.type) << "\n";
  };
  for (const State& state : model.states)
    print(name_of(state.kind), {state.name, model.step.type(model.step.at(state.values[0]))});
  if (model.states.empty())
    for (const Parameter& parameter : parameters) print("constant", parameter);
  for (const auto& [key, value] : model.metadata)
    out << std::left << std::setw(11) << printable(key) << (key.size() < 11 ? "" : "  ")
        << (value.size() > kLongest ? printable(value.substr(0, kLongest)) + ".."
                                    : printable(value))
        << "\n";
  print_list(out, "input", model, model.inputs);
  print_list(out, "loss", model, model.losses);
  print_list(out, "metric", model, model.metrics);
  for (const std::string& name : network_outputs(model))
    out << "output   " << printable(name) << " " << type_text(model.step.type(model.step.at(name)))
        << "\n";
  const Graph& graph = model.step.node_count() > 0 ? model.step : model.inference;
  std::map<std::string, int> by_type;
  for (int index = 0; index < graph.node_count(); ++index) ++by_type[graph.node(index).type()];
  out << "operators of the " << graph.name() << " graph\n";
  for (const auto& [type, count] : by_type)
    out << "  " << std::right << std::setw(6) << count << "  " << printable(type) << "\n";
  if (model.step.node_count() == 0)
    for (Value value : graph.inputs())
      out << "input    " << value_text(graph, value) << " " << type_text(graph.type(value)) << "\n";
  for (Value value : model.inference.outputs())
    out << "predicts " << value_text(model.inference, value) << " "
        << type_text(model.inference.type(value)) << "\n";
  return out.str();
}

std::string dot_of(const Graph& graph) {
  std::ostringstream out;
  out << "digraph " << in_quotes(graph.name())
      << " {\n  node [shape=box fontname=\"sans-serif\"];\n";
  std::map<int, std::vector<int>> of_replica;
  for (int index = 0; index < graph.node_count(); ++index)
    of_replica[graph.node(index).replica()].push_back(index);
  for (const auto& [replica, nodes] : of_replica) {
    if (replica != kEveryReplica)
      out << "  subgraph cluster_" << replica << " {\n    label=\"replica " << replica << "\";\n";
    for (int index : nodes)
      out << "    n" << index << " [label=" << dot_label(graph.node(index)) << "];\n";
    if (replica != kEveryReplica) out << "  }\n";
  }
  for (int id = 0; id < graph.value_count(); ++id)
    if (auto producer = graph.producer({id}))
      for (int user : graph.consumers({id}))
        out << "  n" << producer->index() << " -> n" << user
            << " [label=" << in_quotes(text_of(graph.type({id}))) << "];\n";
  out << "}\n";
  return out.str();
}

}  // namespace lockstep
