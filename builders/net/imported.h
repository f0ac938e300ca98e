// SPDX-License-Identifier: Apache-2.0
// A network from an ONNX file as a model function: build_data_parallel_model() turns it into a
// training step like any other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "builders/net/bytes.h"
#include "builders/net/net.h"
#include "graph/io.h"

namespace lockstep {

struct ImportedOptions {
  // Initializers that become parameters (see trainable_initializers()). Others stay constants.
  std::set<std::string> trainable;
  // Parameters to initialise anew, perhaps with another shape, by name.
  struct NewParam {
    Dims dims;
    Initializer initializer;
  };
  std::map<std::string, NewParam> renewed;
  // Inputs of float32 that are fed as bytes, by name.
  std::map<std::string, ByteScale> bytes;
  // Trains nodes with training_mode 0, too: some exporters can write nothing else.
  bool train_batch_norm = false;
};

// The layer that computes a network's scores [N, classes]: a Gemm, or a MatMul and an Add.
struct Classifier {
  std::string weight;
  std::string bias;            // "" if there is none
  std::size_t class_axis = 0;  // of the weight
  int64_t classes = 0;
};
// Throws, naming the operator that computes the scores, if it is another one.
Classifier find_classifier(const LoadedModel& file, const std::string& scores);

// Float initializers that get a gradient from `loss`, a value (or scores) of the file's graph,
// except running statistics, constants that normalise an input of bytes, and names that match a
// `frozen` pattern (* and ?).
std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen);

// All of float32, except running statistics and constants that normalise an input of bytes: the
// parameters of a network without a loss.
std::set<std::string> float_initializers(const LoadedModel& file);

// The trainable initializers. Throws if there is none: all are frozen, or of another type.
std::set<std::string> check_some_trainable(const LoadedModel& file, const std::string& loss,
                                           const std::vector<std::string>& frozen);

// Copies the file's network into a Net and returns its values by the file's names.
// BatchNormalization with training_mode 1 becomes BatchNormTrain, with running statistics as state
// that each step updates; for prediction it and Dropout run in inference mode.
using ImportedValues = std::function<Value(const std::string& name)>;
ImportedValues add_imported(Net& net, const LoadedModel& file, const ImportedOptions& options);

// The whole file as a model: its inputs, loss and outputs. Without a loss ("") it is one for the
// forward pass alone, which has the outputs in training, too.
ModelFn imported_model(std::shared_ptr<const LoadedModel> file, const std::string& loss,
                       const ImportedOptions& options);

}  // namespace lockstep
