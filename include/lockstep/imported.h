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

// A byte becomes byte * scale - shift, by channel.
struct ByteScale {
  std::vector<float> scale, shift;
};

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
  // Also trains batch norms with training_mode 0, because some exporters write no other mode.
  bool train_batch_norm = false;
};

// Float initializers that get a gradient from `loss`, a value (or scores) of the file's graph,
// except running statistics, constants that normalise an input of bytes, and names that match a
// `frozen` pattern (* and ?).
std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen);

// The whole file as a model: its inputs, loss and outputs. Without a loss ("") the model is for the
// forward pass alone, and has the outputs in training, too.
ModelFn imported_model(std::shared_ptr<const LoadedModel> file, const std::string& loss,
                       const ImportedOptions& options);

}  // namespace lockstep
