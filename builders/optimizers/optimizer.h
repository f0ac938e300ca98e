// SPDX-License-Identifier: Apache-2.0
// An optimiser as a value: its feeds, its slots for each parameter, and the update that makes a new
// parameter from these and a gradient. The decays and factors of parameter classes are none of its
// business (builders/step/param_rules.h), unless it takes the decay itself; neither are replicas
// and sums. A new optimiser is another file in this room.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// A number fed to every replica at each step.
struct OptimizerFeed {
  Role role;
  std::string name;
};
inline const OptimizerFeed kLearningRate{Role::rate, "lr"};

// A tensor of the parameter's size that persists across steps. The slot "momentum" of the parameter
// conv1_w is the state conv1_w_momentum.
struct OptimizerSlot {
  std::string name;
  float first = 0;  // initial value of each element
  // Each replica keeps its own, and checkpoints store all; otherwise all are equal.
  bool differs_by_replica = false;
};

struct ParamUpdate {
  Value param;
  StateKind kind{};          // its class: weight, bias or norm
  Value gradient;            // summed, and adapted to the parameter's class
  std::vector<Value> slots;  // in the order of Optimizer::slots
  std::vector<Value> fed;    // in the order of Optimizer::feeds
  // The number of the update, from 1, if Optimizer::counts. Skipped steps do not count.
  Value number = none;
  float decay = 0;  // of the parameter's class, if Optimizer::takes_decay
  // None, or int64: if not negative, the step is skipped. Parameter and slots then stay, except for
  // a slot's correction by a fed number.
  Value unless = none;
};
struct UpdatedParam {
  Value param;
  std::vector<Value> slots;
};

struct Optimizer {
  using Update = std::function<UpdatedParam(Graph& graph, const ParamUpdate& update)>;
  // There is no default optimiser: `{}` is none.
  explicit Optimizer(Update update) : update(std::move(update)) {}

  std::vector<OptimizerFeed> feeds;
  std::vector<OptimizerSlot> slots;
  bool counts = false;  // needs the number of each update, kept in one more state
  // Decays parameters itself; otherwise decay * parameter is already part of the gradient.
  bool takes_decay = false;
  Update update;
};

}  // namespace lockstep
