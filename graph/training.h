// SPDX-License-Identifier: Apache-2.0
// TrainingModel: a whole training step as data. Three graphs share named state: `init` makes the
// initial values, `step` computes losses and the new value of every state, `inference` is the same
// network for prediction. On disk it is one ONNX model (see io.h and docs/graph.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/placement.h"

namespace lockstep {

// The kind of a state decides how it is trained. The first three are classes of parameters (see
// builders/step/param_rules.h). `computed`: made by the step itself (running statistics). `slot`:
// kept by an optimiser; `own_slot`: the same, separate on each replica. `deferred`: a gradient that
// waits for the next step. `scaling`: keeps 16-bit gradients in range. `resident`: rows of a batch
// that many steps take their minibatches from.
enum class StateKind { weight, bias, norm, computed, slot, own_slot, deferred, scaling, resident };
std::string_view name_of(StateKind kind);
StateKind state_kind_named(std::string_view name);
bool is_parameter(StateKind kind);        // part of the model, not only of its training
bool is_slot(StateKind kind);             // an optimiser's
bool differs_by_replica(StateKind kind);  // each replica has its own; other kinds are equal on all
bool is_saved(StateKind kind);            // in files; a batch is not: it is loaded again

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

// An input of a step. If a replica's share is split into parts, each part has inputs of its own:
// part 2's `data` is called micro_2/data.
struct StepInput : Replicated {
  Role role = Role::data;
  int part = 0;
  std::string feed() const;  // its name without the part: data
};
std::string scope_of_part(int part);
std::string name_in_part(int part, const std::string& feed);

// `state` takes `value`: an output of the init graph before step 1, a value of the step graph
// after each step.
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
  int whole_replicas = 0;  // the run's number of replicas; 0: these are all
  std::vector<State> states;
  std::vector<StepInput> inputs;
  std::vector<Replicated> losses;   // already scaled by 1/replicas: their sum is the loss
  std::vector<Replicated> metrics;  // to be averaged over replicas, weighted by their shares of the
                                    // batch
  // Whether a step was finite. `skipped` is -1 if the step updated; then `non_finite` is -1 on
  // every replica, else the index in `gradients` of a replica's first non-finite one.
  std::vector<Replicated> checks;
  // By trained parameter: the gradient that its update takes (reduced, before weight decay).
  std::vector<Replicated> gradients;
  std::string bucket_plan;  // the buckets reduced together: builders/all_reduce/packing.h
  // Further metadata of the network, by key: its classes, its image preparation.
  std::map<std::string, std::string> metadata;

  // Null if there is no such state.
  const State* find_state(std::string_view name) const;
  // Full names of all states, in order.
  std::vector<std::string> state_values() const;
  // A step's feeds: every input of every replica, input by input, replicas inside. Its fetches:
  // losses, then metrics, then checks, likewise.
  std::vector<std::string> feed_values() const;
  std::vector<std::string> fetch_values() const;
  // The replica of every feed and state, by full name.
  Owners owners() const;
};

}  // namespace lockstep
