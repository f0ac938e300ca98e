// SPDX-License-Identifier: Apache-2.0
// A network from an ONNX file as a model function: build_data_parallel_model() makes a training
// step of it, as of any other.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lockstep/model_files.h"
#include "lockstep/net.h"

namespace lockstep {

// The normalisation of images fed as bytes: byte * scale - shift, by channel.
struct ByteScale {
  std::vector<float> scale, shift;
};

struct ImportedOptions {
  // Initializers that become parameters (see trainable_initializers()). Others stay constants.
  std::set<std::string> trainable = {};
  // A parameter to initialise anew, perhaps with another shape.
  struct NewParam {
    Dims dims;
    Initializer initializer;
  };
  std::map<std::string, NewParam> renewed = {};  // by name
  // Inputs of float32 that are fed as bytes, by name.
  std::map<std::string, ByteScale> bytes = {};
  // Also trains the batch norms with training_mode 0 that these patterns (* and ?) name, because
  // some exporters write no other mode. A pattern matches the name of the node, of its scale or of
  // its running mean.
  std::vector<std::string> train_batch_norm = {};
};

// The float32 initializers that are trained to minimise `loss`, a value of the file's graph, such
// as a loss or scores. Each of them gets a gradient from `loss`. The patterns (* and ?) decide
// first: `trained` names parameters, and `frozen` names constants among the others. Then the
// exporter's kinds decide. Files without kinds have rules: class weights of a loss, running
// statistics, normalisers of an input and masks are constants. Throws for a pattern that matches
// no initializer.
std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen,
                                             const std::vector<std::string>& trained = {});

// The whole file as a model: its inputs, loss and outputs. `loss`: a scalar value of the file's
// graph. Without a loss ("") the model is for the forward pass alone, and has the outputs in
// training, too.
ModelFn imported_model(std::shared_ptr<const LoadedModel> file, const std::string& loss,
                       const ImportedOptions& options);

}  // namespace lockstep
