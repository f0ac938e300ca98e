// An optimiser as a value: what it is fed with, what it keeps of each parameter, and how these and
// a gradient make a new parameter. It knows no classes of parameters (builders/step/param_rules.h),
// no replicas and no sums. Another one is another file in this folder.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// A number that every replica feeds each step with.
struct OptimizerFeed {
  Role role;
  std::string name;
};
inline const OptimizerFeed kLearningRate{Role::rate, "lr"};

// A tensor of the parameter's size that goes on from step to step. The slot "momentum" of the
// parameter conv1_w is the state conv1_w_momentum.
struct OptimizerSlot {
  std::string name;
  float first = 0;  // of each element
  // Each replica keeps its own, and a checkpoint all of them; otherwise all are equal.
  bool differs_by_replica = false;
};

struct ParamUpdate {
  Value param;
  Value gradient;            // summed, and as the rules of the parameter's class have it
  std::vector<Value> slots;  // as Optimizer::slots lists them
  std::vector<Value> fed;    // as Optimizer::feeds lists them
  // Which update it is, from 1, where Optimizer::counts. A step that is skipped is none.
  Value number = none;
  // None, or int64: where it is not negative the step is skipped. Parameter and slots stay, but for
  // what a slot owes to a fed number.
  Value unless = none;
};
struct UpdatedParam {
  Value param;
  std::vector<Value> slots;
};

struct Optimizer {
  using Update = std::function<UpdatedParam(Graph& graph, const ParamUpdate& update)>;
  // No optimiser goes without saying: `{}` is none.
  explicit Optimizer(Update update) : update(std::move(update)) {}

  std::vector<OptimizerFeed> feeds;
  std::vector<OptimizerSlot> slots;
  bool counts = false;  // wants to know the number of each update, so one more state counts them
  Update update;
};

}  // namespace lockstep
