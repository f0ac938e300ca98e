// SPDX-License-Identifier: Apache-2.0
#include "graph/summary.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <map>
#include <sstream>
#include <vector>

#include "graph/phases.h"
#include "graph/printable.h"
#include "graph/step_fetches.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongest = 160;     // of metadata
constexpr std::size_t kLongestName = 80;  // one name must not widen all lines

std::string name_shown(const std::string& name) { return printable(shortened(name, kLongestName)); }
std::string type_shown(const TensorType& type) { return printable(shortened(text_of(type))); }

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

struct Listed {
  std::string_view kind;
  std::string name;
  TensorType type;
};

double elements_of_type(const TensorType& type) {
  double elements = 1;
  for (const Dim& dim : type.shape)
    elements *= static_cast<double>(std::max<int64_t>(dim.size(), 0));
  return elements;
}

// States, or of a network from another tool, which has none, its parameters: the constants of
// floats, except scalars, which are more likely operands.
std::vector<Listed> listed_states(const TrainingModel& model) {
  std::vector<Listed> listed;
  for (const State& state : model.states)
    listed.push_back(
        {name_of(state.kind), state.name, model.step.type(model.step.at(state.values[0]))});
  if (!model.states.empty()) return listed;
  for (int id = 0; id < model.inference.value_count(); ++id)
    if (const Literal* literal = model.inference.literal({id});
        literal && is_floating(literal->dtype()) && !literal->dims().empty())
      listed.push_back({"constant", model.inference.name({id}), literal->type()});
  return listed;
}

template <class Items>
void print_list(std::ostream& out, const char* title, const TrainingModel& model,
                const Items& items) {
  std::size_t width = 22;
  for (const Replicated& item : items) width = std::max(width, name_shown(item.name).size());
  for (const Replicated& item : items)
    out << std::left << std::setw(9) << title << std::setw(static_cast<int>(width) + 2)
        << name_shown(item.name) << type_shown(model.step.type(model.step.at(item.values[0])))
        << "  x" << item.values.size() << "\n";
}

void print_states(std::ostream& out, std::vector<Listed> listed, std::size_t most) {
  const std::size_t count = listed.size();
  if (count > most) {
    const auto bytes = [](const Listed& of) {
      return elements_of_type(of.type) * static_cast<double>(info_of(of.type.dtype).size);
    };
    std::ranges::stable_sort(listed, std::greater(), bytes);
    listed.resize(most);
  }
  std::size_t width = 26;
  for (const Listed& of : listed) width = std::max(width, name_shown(of.name).size());
  for (const Listed& of : listed)
    out << "  " << std::left << std::setw(9) << of.kind << std::setw(static_cast<int>(width) + 2)
        << name_shown(of.name) << type_shown(of.type) << "\n";
  if (count > most) out << "  .. and " << count - most << " smaller: --all lists them\n";
}

}  // namespace

std::string counts_of(const TrainingModel& model) {
  std::ostringstream out;
  double values = 0;
  std::size_t parameters = 0;
  for (const Listed& of : listed_states(model)) {
    if (!model.states.empty() && !is_parameter(state_kind_named(of.kind))) continue;
    values += elements_of_type(of.type);
    ++parameters;
  }
  out << "replicas   " << model.replicas << "\n"
      << "nodes      " << model.inference.node_count() << " inference, " << model.init.node_count()
      << " init, " << model.step.node_count() << " step\n"
      << "parameters " << parameters << " (" << scientific(values) << " values per replica)\n";
  if (model.step.node_count() > 0 && model.updates.empty())
    out << "updates    none: the forward pass alone\n";
  return out.str();
}

std::string contents_of(const TrainingModel& model, const ContentsOptions& options) {
  std::ostringstream out;
  print_states(out, listed_states(model), options.most_states);
  for (const auto& [key, value] : model.metadata)
    out << std::left << std::setw(11) << name_shown(key) << (key.size() < 11 ? "" : "  ")
        << printable(shortened(value, kLongest)) << "\n";
  print_list(out, "input", model, model.inputs);
  print_list(out, "loss", model, model.losses);
  print_list(out, "metric", model, model.metrics);
  for (const std::string& name : network_outputs(model))
    out << "output   " << name_shown(name) << " "
        << type_shown(model.step.type(model.step.at(name))) << "\n";
  const Graph& inference = model.inference;
  if (model.step.node_count() == 0)
    for (Value value : inference.inputs())
      out << "input    " << name_shown(inference.name(value)) << " "
          << type_shown(inference.type(value)) << "\n";
  for (Value value : inference.outputs())
    out << "predicts " << name_shown(inference.name(value)) << " "
        << type_shown(inference.type(value)) << "\n";
  return out.str();
}

std::string summary_of(const TrainingModel& model) {
  std::ostringstream out;
  out << counts_of(model) << contents_of(model);
  const Graph& graph = main_graph(model);
  std::map<std::string, int> by_type;
  for (int index = 0; index < graph.node_count(); ++index) ++by_type[graph.node(index).type()];
  out << "operators of the " << graph.name() << " graph\n";
  for (const auto& [type, count] : by_type)
    out << "  " << std::right << std::setw(6) << count << "  " << name_shown(type) << "\n";
  return out.str();
}

}  // namespace lockstep
