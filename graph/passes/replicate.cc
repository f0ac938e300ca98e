// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/replicate.h"

#include <algorithm>
#include <numeric>

#include "graph/placement.h"
#include "graph/random_stream.h"

namespace lockstep {
namespace {

std::string on_replica(const std::string& scope, int k, const std::string& name) {
  return join(scope, "_", k, "/", name);
}

class Replication {
 public:
  Replication(const Graph& one, int replicas, const std::string& scope)
      : one_(one), all_(one.ops(), one.name()), replicas_(replicas) {
    for (int k = 0; k < replicas; ++k) prefixes_.push_back(on_replica(scope, k, ""));
    made_.resize(int64_t{one.value_count()} * replicas);
    is_output_.resize(one.value_count(), false);
    for (Value output : one.outputs()) is_output_[output.id] = true;
    all_.reserve(int64_t{one.node_count()} * replicas, made_.size());
  }

  Graph run() {
    for (Value input : one_.inputs())
      for (int k = 0; k < replicas_; ++k)
        of(input, k) = all_.input(name(input, k), one_.type(input), one_.origin(input));
    const std::vector<bool> for_first = only_for_first();
    for (int id = 0; id < one_.value_count(); ++id)
      if (one_.literal({id}) && !one_.producer({id}) && !of({id}, 0))
        for (int k = 0; k < (all_users_in({id}, for_first) ? 1 : replicas_); ++k)
          of({id}, k) = all_.take_constant(one_, {id}, name({id}, k));
    for (int index = 0; index < one_.node_count(); ++index) {
      const Node node = one_.node(index);
      if (node.op()->collective)
        join_copies(node);
      else
        copy(node, for_first[index] ? 1 : replicas_);
    }
    for (Value output : one_.outputs())
      for (int k = 0; k < replicas_; ++k) all_.output(of(output, k));
    return std::move(all_);
  }

 private:
  Value& of(Value value, int k) { return made_[int64_t{value.id} * replicas_ + k]; }
  std::string name(Value value, int k) const { return prefixes_[k] + one_.name(value); }

  // Marks nodes used only by broadcasts from replica 0, directly or through other marked nodes.
  std::vector<bool> only_for_first() const {
    std::vector<bool> found(one_.node_count(), false);
    for (int index = one_.node_count() - 1; index >= 0; --index) {
      int users = 0;
      bool all = true;
      for (Value output : one_.node(index).outputs()) {
        if (!output) continue;
        all = all && !is_output_[output.id];
        for (int user : one_.consumers(output)) {
          ++users;
          all = all && (one_.node(user).op()->takes_first || found[user]);
        }
      }
      found[index] = all && users > 0 && !one_.node(index).op()->collective;
    }
    return found;
  }

  bool all_users_in(Value value, const std::vector<bool>& nodes) const {
    const std::vector<int>& users = one_.consumers(value);
    return !users.empty() && !is_output_[value.id] &&
           std::all_of(users.begin(), users.end(), [&](int user) { return nodes[user]; });
  }

  void copy(const Node& node, int replicas) {
    const bool draws = has_random_stream(node);
    for (int k = 0; k < replicas; ++k) {
      ReplicaScope replica(all_, k);
      std::vector<Value> inputs;
      for (Value input : node.inputs()) inputs.push_back(input ? of(input, k) : none);
      Graph::Names names{prefixes_[k] + node.name(), {}};
      for (Value output : node.outputs()) names.outputs.push_back(output ? name(output, k) : "");
      const Node made = all_.take(node, inputs, names);
      for (std::size_t i = 0; i < node.outputs().size(); ++i)
        if (node.outputs()[i]) of(node.outputs()[i], k) = made.outputs()[i];
      if (draws) finish_random_stream(all_, made.index(), k);
    }
  }

  void join_copies(const Node& node) {
    const Value operand = node.inputs()[0], result = node.outputs()[0];
    check(node.inputs().size() == 1 && node.outputs().size() == 1, node.description(),
          ": a collective of one replica has one operand and one result");
    ReplicaScope none_of_them(all_, kEveryReplica);
    std::vector<Value> inputs;
    for (int k = 0; k < (node.op()->takes_first ? 1 : replicas_); ++k)
      inputs.push_back(of(operand, k));
    Graph::Names names{node.name(), {}};
    for (int k = 0; k < replicas_; ++k) names.outputs.push_back(name(result, k));
    const Node made = all_.take(node, inputs, names);
    for (int k = 0; k < replicas_; ++k) of(result, k) = made.outputs()[k];
    std::vector<int64_t> replicas(replicas_);
    std::iota(replicas.begin(), replicas.end(), 0);
    const auto [attribute, value] = replicas_attribute(replicas);
    all_.set_attribute(made.index(), attribute, value);
  }

  const Graph& one_;
  Graph all_;
  const int replicas_;
  std::vector<std::string> prefixes_;
  std::vector<Value> made_;      // [value of `one_`][replica]
  std::vector<bool> is_output_;  // of `one_`
};

std::vector<std::string> on_all(const std::string& name, int replicas, const std::string& scope) {
  std::vector<std::string> names;
  for (int k = 0; k < replicas; ++k) names.push_back(on_replica(scope, k, name));
  return names;
}

}  // namespace

Graph replicate(const Graph& one, int replicas, const std::string& scope) {
  return Replication(one, replicas, scope).run();
}

TrainingModel replicate(const TrainingModel& one, int replicas, const std::string& scope) {
  TrainingModel all(one.step.ops());
  all.replicas = replicas;
  all.step = replicate(one.step, replicas, scope);
  all.init = replicate(one.init, replicas, scope);
  all.inference = one.inference.clone();
  all.states = one.states;
  all.inputs = one.inputs;
  all.losses = one.losses;
  all.metrics = one.metrics;
  all.checks = one.checks;
  all.gradients = one.gradients;
  all.bucket_plan = one.bucket_plan;
  all.all_reduce = one.all_reduce;
  all.wire = one.wire;
  all.metadata = one.metadata;
  const auto spread = [&](Replicated& item) {
    item.values = on_all(item.values.at(0), replicas, scope);
  };
  for (State& state : all.states) {
    if (const Value read = all.inference.find(state.values.at(0)))
      all.inference.rename(read, on_replica(scope, 0, state.values[0]));
    spread(state);
  }
  for (StepInput& input : all.inputs) spread(input);
  for (auto* items : {&all.losses, &all.metrics, &all.checks, &all.gradients})
    for (Replicated& item : *items) spread(item);
  for (auto [from, to] : {std::pair(&one.initial, &all.initial), {&one.updates, &all.updates}})
    for (const Binding& binding : *from)
      for (int k = 0; k < replicas; ++k)
        to->push_back({on_replica(scope, k, binding.state), on_replica(scope, k, binding.value)});
  return all;
}

}  // namespace lockstep
