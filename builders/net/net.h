// SPDX-License-Identifier: Apache-2.0
// Net: the interface for model functions. A function is written once, for one device, and called
// twice: for training and for prediction.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builders/net/initializers.h"
#include "builders/net/param_names.h"
#include "graph/training.h"

namespace lockstep {

enum class Mode {
  train,  // inputs, losses and metrics
  infer,  // inputs and predictions
};

class Net {
 public:
  struct Named {
    std::string name;
    Value value;
    Value count = none;  // of a loss that is a mean: of how many
  };
  struct Param {
    std::string name;
    Value value;
    StateKind kind;
    Initializer initializer;
    Dims dims;
    std::string origin;  // the line that declares it
    bool fixed = false;  // never trained
    Value next = none;
  };

  Net(Graph& graph, Mode mode) : graph(graph), mode(mode) {}

  Graph& graph;
  const Mode mode;
  ParamNames names = kCaffe2Names;  // for the layers that follow
  bool fixed = false;               // parameters declared from here on are never trained
  bool training() const { return mode == Mode::train; }

  // An input fed at every step: the replica's share of a batch.
  Value input(std::string_view name, const TensorType& type, const Where& where = Where::here());
  // A parameter. Repeating a name is an error; to share a parameter, keep its Value.
  Value param(std::string_view name, const Dims& dims, const Initializer& initializer,
              StateKind kind = StateKind::weight, const Where& where = Where::here());
  // The state takes this value after a step, without an optimiser: running statistics. No effect in
  // prediction.
  void next(Value state, Value value);
  void loss(std::string_view name, Value value);
  // A loss that is the mean over `count` of the replica's things, or over 1 if there are none, such
  // as the valid places of padded sequences; a float scalar. The batch's loss is the mean over
  // those of all replicas and micro-batches, however they are divided.
  void loss(std::string_view name, Value value, Value count);
  void metric(std::string_view name, Value value);
  void output(std::string_view name, Value value);

  const std::vector<Named>& inputs() const { return inputs_; }
  const std::vector<Param>& params() const { return params_; }
  const std::vector<Named>& losses() const { return losses_; }
  const std::vector<Named>& metrics() const { return metrics_; }
  const std::vector<Named>& outputs() const { return outputs_; }

 private:
  std::vector<Named> inputs_;
  std::vector<Param> params_;
  std::vector<Named> losses_;
  std::vector<Named> metrics_;
  std::vector<Named> outputs_;
};

using ModelFn = std::function<void(Net& net)>;

}  // namespace lockstep
