// SPDX-License-Identifier: Apache-2.0
// Net: the network that a model function describes. A model function is written once, for one
// device, and called twice: for training and for prediction.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Adds the node that makes a parameter's initial value to the init graph. `stream` gives each
// parameter separate random numbers.
using Initializer =
    std::function<Value(Graph& init, const Dims& dims, int stream, const Site& site)>;

Initializer constant(float value);
Initializer given(Literal value);  // this value, such as one from a file
Initializer gaussian(float deviation, float mean = 0);
Initializer uniform(float low, float high);
// Weights are [outputs, inputs, kernel..]. fan_in = inputs * kernel, fan_out = outputs * kernel.
// The weight needs two dimensions or more.
Initializer msra();    // gaussian, deviation sqrt(2 / fan_out), as Caffe2's MSRAFill
Initializer glorot();  // uniform within +-sqrt(6 / (fan_in + fan_out)), as Keras
Initializer xavier();  // uniform within +-sqrt(3 / fan_in), as Caffe2's XavierFill

// The suffixes of a layer's parameters. Families of models keep the names of their published
// weights, so that the weights load by name.
struct ParamNames {
  const char* weight;
  const char* bias;
  const char* scale;   // of a normalisation
  const char* offset;  // of a normalisation
  const char* mean;
  const char* variance;
};

inline constexpr ParamNames kCaffe2Names{"_w", "_b", "_s", "_b", "_rm", "_riv"};
inline constexpr ParamNames kPyTorchNames{".weight", ".bias",         ".weight",
                                          ".bias",   ".running_mean", ".running_var"};
inline constexpr ParamNames kKerasNames{"/kernel", "/bias",        "/gamma",
                                        "/beta",   "/moving_mean", "/moving_variance"};

enum class Mode {
  train,  // inputs, losses and metrics
  infer,  // inputs and predictions
};

class Net {
 public:
  struct Named {
    std::string name;
    Value value;
    Value count = none;  // of a loss that is a mean: the number of its terms
  };
  struct Param {
    std::string name;
    Value value;
    StateKind kind;
    Initializer initializer;
    Dims dims;
    std::string origin;  // the line that declares the parameter
    bool fixed = false;  // never trained
    Value next = none;   // the value after a step, set by Net::next()
  };

  // `graph` must outlive the net.
  Net(Graph& graph, Mode mode) : graph(graph), mode(mode) {}

  Graph& graph;
  const Mode mode;
  ParamNames names = kCaffe2Names;  // for the layers that follow
  bool fixed = false;               // parameters declared from here on are never trained
  bool training() const { return mode == Mode::train; }

  // Names are under the graph's scope. Declaring a name twice is an error.

  // Declares an input fed at every step: the replica's share of a batch.
  Value input(std::string_view name, const TensorType& type, const Where& where = Where::here());
  // Declares a float32 parameter. To share a parameter between layers, keep its Value.
  Value param(std::string_view name, const Dims& dims, const Initializer& initializer,
              StateKind kind = StateKind::weight, const Where& where = Where::here());
  // Sets the value of a `computed` state after a step, as running statistics need it; no optimiser
  // updates the state. No effect in prediction.
  void next(Value state, Value value);
  // Declares a scalar loss. The step minimises the sum of all losses.
  void loss(std::string_view name, Value value);
  // Declares a loss averaged over `count` items on this replica (over 1 if count is 0), such as the
  // valid elements of padded sequences. `count`: a float scalar. The batch's loss is the mean over
  // the items of all replicas and micro-batches, however the batch is divided.
  void loss(std::string_view name, Value value, Value count);
  // Declares a scalar that is reported with the losses: its mean over the batch.
  void metric(std::string_view name, Value value);
  // Declares a result of prediction.
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
