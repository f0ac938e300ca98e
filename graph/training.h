// TrainingModel: a whole training step as data. Three graphs share named state: `init` makes the
// first values, `step` computes losses and the new value of every state, `inference` is the same
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
// builders/step/param_rules.h); `computed` is made by the step itself (running statistics); `slot`
// goes from step to step for an optimiser, and `own_slot` too, where each replica keeps its own;
// `deferred` is a gradient that waits for the next step; `scaling` keeps 16-bit gradients in range.
enum class StateKind { weight, bias, norm, computed, slot, own_slot, deferred, scaling };
std::string_view name_of(StateKind kind);
StateKind state_kind_named(std::string_view name);
bool is_parameter(StateKind kind);        // what the model is, not what its training needs
bool is_slot(StateKind kind);             // an optimiser's
bool differs_by_replica(StateKind kind);  // each replica has its own; the others are equal

// One parameter or buffer, with its value name on every replica.
struct State : Replicated {
  StateKind kind = StateKind::weight;
};

// What a step is fed something for.
enum class Role {
  data,        // rows of the batch: images, labels
  weight,      // the replica's share of the loss
  rate,        // the learning rate
  correction,  // what an optimiser multiplies its momentum by when the rate jumps
};
std::string_view name_of(Role role);
Role role_named(std::string_view name);

// Something a step is fed with. Where a replica's share goes through the network in parts, each has
// inputs of its own: part 2's `data` is called micro_2/data.
struct StepInput : Replicated {
  Role role = Role::data;
  int part = 0;
  std::string feed() const;  // what all parts call it: data
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
  int first_replica = 0;   // of all, where this is one process's share
  int whole_replicas = 0;  // how many all are then; 0: these are all
  std::vector<State> states;
  std::vector<StepInput> inputs;
  std::vector<Replicated> losses;   // each already scaled by 1/replicas: their sum is the loss
  std::vector<Replicated> metrics;  // to be averaged over replicas, by their shares of the batch
  // Whether a step was sound. `skipped` is -1 for a step that updated; then `non_finite` is -1 on
  // every replica, else the place in `gradients` of a replica's first one that was not finite.
  std::vector<Replicated> checks;
  // Of each trained parameter, under its name: the gradient that its update takes (reduced, before
  // weight decay).
  std::vector<Replicated> gradients;
  std::string bucket_plan;  // which of them are reduced together: builders/all_reduce/packing.h
  // What else the file says of the network, by key: its classes, how pictures are prepared for it.
  std::map<std::string, std::string> metadata;

  // Null when there is no such state.
  const State* find_state(std::string_view name) const;
  // Full names of all states, in order.
  std::vector<std::string> state_values() const;
  // What a step is fed with: every input of every replica, input by input, replicas inside. What it
  // answers with: losses, then metrics, then checks, likewise.
  std::vector<std::string> feed_values() const;
  std::vector<std::string> fetch_values() const;
  // The replica of every feed and state, by full name.
  Owners owners() const;
};

}  // namespace lockstep
