// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rename.h"

namespace lockstep {
namespace {

class Renaming {
 public:
  Renaming(const Graph& from, const NewNames& names)
      : from_(from), names_(names), to_(from.ops(), from.name()) {
    here_.resize(from.value_count());
    to_.reserve(from.node_count(), here_.size());
  }

  Graph run() {
    for (const std::string& name : names_.first)
      if (const Value value = from_.find(name)) declare(value);
    for (Value input : from_.inputs()) declare(input);
    for (int id = 0; id < from_.value_count(); ++id)
      if (from_.literal({id}) && !from_.producer({id}) && !of({id}))
        of({id}) = to_.take_constant(from_, {id}, name({id}));
    for (int index = 0; index < from_.node_count(); ++index) take(from_.node(index));
    for (Value output : from_.outputs()) to_.output(of(output));
    return std::move(to_);
  }

 private:
  Value& of(Value value) { return here_[value.id]; }

  const std::string& name(Value value) const { return names_.of(from_.name(value)); }

  void declare(Value input) {
    if (from_.producer(input) || from_.literal(input) || of(input)) return;
    of(input) = to_.input(name(input), from_.type(input), from_.origin(input));
  }

  void take(const Node& node) {
    ReplicaScope replica(to_, node.replica());
    std::vector<Value> inputs;
    for (Value input : node.inputs()) inputs.push_back(input ? of(input) : none);
    const auto found = names_.nodes.find(node.index());
    Graph::Names names{found == names_.nodes.end() ? node.name() : found->second, {}};
    for (Value output : node.outputs()) names.outputs.push_back(output ? name(output) : "");
    const Node made = to_.take(node, inputs, names);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) of(node.outputs()[i]) = made.outputs()[i];
  }

  const Graph& from_;
  const NewNames& names_;
  Graph to_;
  std::vector<Value> here_;  // by the old value's number
};

}  // namespace

TrainingModel renamed(TrainingModel model, const NewNames& names) {
  for (const auto& [old, unused] : names.values) model.step.at(old);
  for (const std::string& old : names.first) model.step.at(old);
  for (const auto& [node, name] : names.nodes)
    check(node >= 0 && node < model.step.node_count(), "cannot call node ", node, " '", name,
          "': the step has nodes 0 to ", model.step.node_count() - 1);
  model.step = Renaming(model.step, names).run();
  // Prediction shares only its states with the step; its other values have separate names.
  NewNames of_states;
  of_states.first = names.first;
  for (const State& state : model.states)
    for (const std::string& old : state.values) of_states.values.emplace(old, names.of(old));
  model.inference = Renaming(model.inference, of_states).run();

  const auto change = [&](std::string& name) { name = names.of(name); };
  const auto change_all = [&](auto& items) {
    for (auto& item : items)
      for (std::string& value : item.values) change(value);
  };
  change_all(model.states);
  change_all(model.inputs);
  for (auto* items : {&model.losses, &model.metrics, &model.checks, &model.gradients})
    change_all(*items);
  for (Binding& binding : model.initial) change(binding.state);
  for (Binding& binding : model.updates) {
    change(binding.state);
    change(binding.value);
  }
  return model;
}

}  // namespace lockstep
