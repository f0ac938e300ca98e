// SPDX-License-Identifier: Apache-2.0
// TrainingModel: a whole training step as data. Three graphs share named state: `init` makes the
// initial values, `step` computes losses and the new value of every state, `inference` is the
// network for prediction. On disk it is one ONNX model (model_files.h, docs/graph.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// The values of one thing on every replica: `conv1_w` is gpu_0/conv1_w, gpu_1/conv1_w. Names are
// full names in the step graph; index = replica.
struct Replicated {
  std::string name;  // without scope
  std::vector<std::string> values;
};

// The replica of each input of a step, by name.
using Owners = std::unordered_map<std::string, int>;

// The kind of a state decides how the state is trained. The first three kinds are classes of
// parameters (ParamRules in data_parallel.h). `computed`: made by the step itself (running
// statistics). `slot`: kept by an optimiser; `own_slot`: a slot that differs by replica.
// `average`: the moving average of a parameter.
// `deferred`: a gradient that waits for the next step. `scaling`: keeps 16-bit gradients in range.
// `resident`: rows of a batch that many steps take their minibatches from.
enum class StateKind {
  weight,
  bias,
  norm,
  computed,
  slot,
  own_slot,
  average,
  deferred,
  scaling,
  resident
};
std::string_view name_of(StateKind kind);
StateKind state_kind_named(std::string_view name);
bool is_parameter(StateKind kind);        // weight, bias or norm
bool is_slot(StateKind kind);             // kept by an optimiser
bool differs_by_replica(StateKind kind);  // false: the state is equal on all replicas
bool is_saved(StateKind kind);            // in files; false for a batch, which is loaded again

// One parameter or buffer, with the name of its value on every replica.
struct State : Replicated {
  StateKind kind = StateKind::weight;
};

// The purpose of a step's input.
enum class Role {
  data,        // rows of the batch: images, labels
  weight,      // the replica's share of the loss
  rate,        // the learning rate
  correction,  // the momentum's factor when the rate jumps
};
std::string_view name_of(Role role);
Role role_named(std::string_view name);

// An input of a step. If a replica's share is split into parts, each part has its own inputs: part
// 2's `data` is called micro_2/data.
struct StepInput : Replicated {
  Role role = Role::data;
  int part = 0;
  std::string feed() const;  // the name without the part: data
};
std::string scope_of_part(int part);
std::string name_in_part(int part, const std::string& feed);

// Assigns `value` to `state`: an output of the init graph before the first step, a value of the
// step graph after each step. Full names.
struct Binding {
  std::string state;
  std::string value;
  friend bool operator==(const Binding&, const Binding&) = default;
};

struct TrainingModel {
  explicit TrainingModel(const OpSet& ops)
      : inference(ops, "inference"), init(ops, "init"), step(ops, "step") {}

  Graph inference;
  Graph init;
  Graph step;
  std::vector<Binding> initial;
  std::vector<Binding> updates;

  int replicas = 1;
  int first_replica = 0;   // within the run, if this is one process's share
  int whole_replicas = 0;  // the run's number of replicas; 0: the model has all of them
  std::vector<State> states;
  std::vector<StepInput> inputs;
  std::vector<Replicated> losses;   // weighted by the replica's share: their sum is the loss
  std::vector<Replicated> metrics;  // averaged over replicas, weighted by their shares of the batch
  // Checks of finiteness: `skipped`, then `non_finite`; empty unless steps may be skipped.
  // `skipped` is negative if the step updated. `non_finite` is the index in `gradients` of the
  // replica's first non-finite gradient, -1 if all its gradients are finite.
  std::vector<Replicated> checks;
  // By trained parameter: the gradient that the update reads (reduced, before weight decay).
  std::vector<Replicated> gradients;
  std::string bucket_plan;  // the buckets reduced together, as text: Packing in all_reduce.h
  // The options of the sums over replicas, as text that parse_all_reduce() reads and as the type on
  // the wire; "" in files of versions that did not store them, and without sums.
  std::string all_reduce, wire;
  // Further metadata of the network, by key: its classes, its image preparation.
  std::map<std::string, std::string> metadata;

  // Null if there is no such state.
  const State* find_state(std::string_view name) const;
  // Full names of all states, in order.
  std::vector<std::string> state_values() const;
  // A step's feeds: every input of every replica, input by input, replicas inside. Its fetches:
  // losses, then metrics, then checks, in the same order.
  std::vector<std::string> feed_values() const;
  std::vector<std::string> fetch_values() const;
  // The replica of every feed and state, by full name.
  Owners owners() const;
};

// All three graphs, states and bindings, as stable text.
std::string text_of(const TrainingModel& model, const PrintOptions& options = {});

}  // namespace lockstep
