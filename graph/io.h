// SPDX-License-Identifier: Apache-2.0
// Models on disk. The file is one ONNX ModelProto: graph = inference, training_info[0] = init and
// step graphs with their bindings, metadata_props = the roles of values on each replica. State is
// written as initializers, large state to `<file>.data` beside it; equal tensors are stored once.
#pragma once

#include <map>
#include <string>

#include "graph/training.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

using StateValues = std::map<std::string, Literal>;  // by full name

struct LoadedModel {
  TrainingModel model;
  StateValues values = {};   // empty unless `initialised`
  bool initialised = false;  // whether the file holds the state's values, or only their shapes
  std::vector<std::string> initializers = {};  // of the inference graph, by their names in the file
  std::string warning = "";                    // a warning for training
};

// The model with its state as initializers without data (marked external).
onnx::ModelProto to_onnx(const TrainingModel& model);

struct SaveOptions {
  const StateValues* values = nullptr;  // null: zeros, to be initialised after loading
  std::size_t inline_limit = 1 << 20;   // state above this number of bytes goes to a file beside it
};
void save_model(const TrainingModel& model, const std::string& path,
                const SaveOptions& options = {});

// Reads any ONNX model. Opsets before 17 go through ONNX's version converter if its operators
// changed since; newer ones through graph/opset. A model without training_info has only an
// inference graph with constant initializers. Throws naming the file and the error; operators
// missing from `ops` are listed all at once.
LoadedModel load_model(const OpSet& ops, const std::string& path);

// A single tensor, in the format of ONNX's test data (.pb).
Literal load_tensor(const std::string& path);

}  // namespace lockstep
