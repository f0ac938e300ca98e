// SPDX-License-Identifier: Apache-2.0
// Models on disk. The file is one ONNX model: graph = inference, training_info[0] = init and step
// graphs with their bindings, metadata_props = the roles of values on each replica. State is
// written as initializers, large state to `<file>.data` beside the file; equal tensors are stored
// once.
#pragma once

#include <map>
#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

using StateValues = std::map<std::string, Literal>;  // by full name

struct LoadedModel {
  TrainingModel model;
  StateValues values = {};   // empty unless `initialised`
  bool initialised = false;  // true if the file holds the state's values, false if only shapes
  std::vector<std::string> initializers = {};  // of the inference graph, by their names in the file
  std::string warning = "";                    // a warning, for training
};

struct SaveOptions {
  const StateValues* values = nullptr;  // null: zeros, to be initialised after loading
  std::size_t inline_limit = 1 << 20;   // larger states, in bytes, go to a file beside the model
};
void save_model(const TrainingModel& model, const std::string& path,
                const SaveOptions& options = {});

// Reads any ONNX model. Models of opsets before 17 are converted if their operators changed since;
// operators of newer opsets are rewritten. A model without training_info has only an inference
// graph with constant initializers. Throws naming the file and the error; all operators missing
// from `ops` are listed at once.
LoadedModel load_model(const OpSet& ops, const std::string& path);

// A single tensor, in the format of ONNX's test data (.pb).
Literal load_tensor(const std::string& path);

// The inference graph with its state as constants under the states' names, without a replica's
// scope: a model that needs only its inputs. `values`: by state name; throws for a value that is
// missing or of another shape. Metadata is kept, except the number of auxiliary devices.
TrainingModel with_trained_values(const TrainingModel& model, const StateValues& values);

}  // namespace lockstep
