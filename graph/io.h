// Models on disk. The file is one ONNX ModelProto: graph = inference, training_info[0] = init and
// step graphs with their bindings, metadata_props = what stands for what on which replica. State is
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
  bool initialised = false;  // were values of the state saved, or only its shapes?
  std::vector<std::string> initializers = {};  // of the inference graph, as the file calls them
  std::string warning = "";                    // for who wants to train it
};

// The model with its state as initializers without data (marked external).
onnx::ModelProto to_onnx(const TrainingModel& model);

struct SaveOptions {
  const StateValues* values = nullptr;  // null: zeros, to be initialised by whoever loads
  std::size_t inline_limit = 1 << 20;   // bytes of state above which it goes to a file beside it
};
void save_model(const TrainingModel& model, const std::string& path,
                const SaveOptions& options = {});

// Reads any ONNX model. One older than opset 17 goes through ONNX's version converter where its
// operators changed since, one newer through graph/opset. A model without training_info has only an
// inference graph, its initializers constants. Throws naming the file and what is wrong; operators
// that `ops` lacks are listed all at once.
LoadedModel load_model(const OpSet& ops, const std::string& path);

// A single tensor, as ONNX's test data stores them (.pb).
Literal load_tensor(const std::string& path);

}  // namespace lockstep
