// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/predict.h"

#include <map>

#include "graph/auxiliaries.h"
#include "graph/average.h"

namespace lockstep {
namespace {

// Copies the graph's nodes onto existing inputs; returns the new outputs.
std::vector<Value> copy_nodes(const Graph& from, Graph& to, std::vector<Value> here) {
  auto at = [&](Value value) -> Value& { return here[value.id]; };
  for (int index = 0; index < from.node_count(); ++index) {
    const Node node = from.node(index);
    std::vector<Value> operands;
    for (Value input : node.inputs()) operands.push_back(input ? at(input) : none);
    const Node copied = to.copy(node, operands);
    const std::vector<Value> made(copied.outputs().begin(), copied.outputs().end());
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i]) at(node.outputs()[i]) = made[i];
  }
  std::vector<Value> outputs;
  for (Value output : from.outputs()) outputs.push_back(at(output));
  return outputs;
}

std::vector<Value> no_values(const Graph& graph) { return std::vector<Value>(graph.value_count()); }

// Returns the state of each input of the inference graph, by the input's name.
std::map<std::string, const State*> states_by_input(const TrainingModel& model) {
  std::map<std::string, const State*> states;
  for (const State& state : model.states) states.emplace(state.values[0], &state);
  return states;
}

}  // namespace

Predictors predict_on_every_replica(const TrainingModel& model, Reads reads) {
  const Graph& one = model.inference;
  Predictors all{Graph(one.ops(), "prediction"), {}, {}};
  auto states = states_by_input(model);
  if (reads == Reads::parameters)
    for (auto& [input, state] : states)
      if (state->kind == StateKind::average) state = model.find_state(averaged_by(state->name));
  for (Value input : one.inputs())
    if (!states.contains(one.name(input)) && !one.literal(input))
      all.inputs.push_back({one.name(input), {}});
  for (Value output : one.outputs()) all.outputs.push_back({one.name(output), {}});

  std::vector<Value> constants = no_values(one);
  for (int id = 0; id < one.value_count(); ++id)
    if (const Literal* literal = one.literal({id}); literal && !one.producer({id}))
      constants[id] = all.graph.constant(one.name({id}), *literal);
  for (int k = 0; k < model.replicas; ++k) {
    ReplicaScope replica(all.graph, k);
    std::vector<Value> here = constants;
    std::size_t fed = 0;
    for (Value input : one.inputs()) {
      const std::string& name = one.name(input);
      Value& value = here[input.id];
      if (value) continue;
      const auto state = states.find(name);
      if (state != states.end()) {
        value = all.graph.input(state->second->values[k], one.type(input));
        continue;
      }
      NameScope scope(all.graph, join("replica_", k));
      value = all.graph.input(name, one.type(input));
      all.inputs[fed++].values.push_back(all.graph.name(value));
    }
    NameScope scope(all.graph, join("replica_", k));
    const std::vector<Value> outputs = copy_nodes(one, all.graph, std::move(here));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      all.graph.output(outputs[i]);
      all.outputs[i].values.push_back(all.graph.name(outputs[i]));
    }
  }
  return all;
}

TrainingModel with_trained_values(const TrainingModel& model, const StateValues& values) {
  const Graph& from = model.inference;
  TrainingModel trained(from.ops());
  trained.metadata = model.metadata;
  set_auxiliaries(trained, 0);
  Graph& to = trained.inference;
  const auto states = states_by_input(model);
  std::vector<Value> here = no_values(from);
  for (Value input : from.inputs()) {
    const std::string& name = from.name(input);
    Value& value = here[input.id];
    const auto state = states.find(name);
    if (state == states.end()) {
      if (!from.literal(input)) value = to.input(name, from.type(input));
      continue;
    }
    const std::string& plain = state->second->name;
    const auto found = values.find(plain);
    check(found != values.end(), "there is no value for '", plain, "'");
    const TensorType type{found->second.dtype(), to_shape(found->second.dims())};
    check(type == from.type(input), "'", plain, "' is ", from.type(input), " but its value is ",
          found->second.type());
    // The constant of an average has the parameter's name.
    const bool averages = state->second->kind == StateKind::average;
    const std::string constant = averages ? averaged_by(plain) : plain;
    value = to.constant(from.find(constant) ? name : constant, found->second);
  }
  for (int id = 0; id < from.value_count(); ++id)
    if (const Literal* literal = from.literal({id}); literal && !from.producer({id}))
      here[id] = to.constant(from.name({id}), *literal);
  for (Value output : copy_nodes(from, to, std::move(here))) to.output(output);
  return trained;
}

std::vector<std::string> values_of(const std::vector<Replicated>& items) {
  std::vector<std::string> names;
  for (const Replicated& item : items)
    names.insert(names.end(), item.values.begin(), item.values.end());
  return names;
}

}  // namespace lockstep
