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

// The kind of an initializer in the framework that exported it: trained, stored beside the
// parameters, or written in the network's code.
enum class InitializerKind { parameter, buffer, constant };

struct LoadedModel {
  TrainingModel model;
  StateValues values = {};   // empty unless `initialised`
  bool initialised = false;  // true if the file holds the state's values, false if only shapes
  std::vector<std::string> initializers = {};  // of the inference graph, by their names in the file
  std::string warning = "";  // a warning for users who train the network; "": none
  // By the names of initializers. Only PyTorch's newer exporter writes kinds.
  std::map<std::string, InitializerKind> kinds = {};
};

struct SaveOptions {
  // The state's values; not owned. null: zeros, to be initialised after loading.
  const StateValues* values = nullptr;
  // If all states together have more bytes, they go to `<path>.data`.
  std::size_t inline_limit = 1 << 20;
};
// Writes the model. Existing files are replaced when the new files are complete.
void save_model(const TrainingModel& model, const std::string& path,
                const SaveOptions& options = {});

// Reads any ONNX model. Models of opsets before 17 are converted if their operators changed since;
// operators of newer opsets are rewritten. A model without training_info has only an inference
// graph with constant initializers. Throws an Error naming the file and the mistake; all operators
// missing from `ops` are listed at once. `ops` must outlive the result.
LoadedModel load_model(const OpSet& ops, const std::string& path);

// Reads a single tensor, in the format of ONNX's test data (.pb). Throws an Error naming the file.
Literal load_tensor(const std::string& path);

// The inference graph with its state as constants under the states' names, without a replica's
// scope: a model that needs only its inputs. `values`: by the state's name without scope. Throws
// for a value that is missing or of another type or shape. Metadata is kept, except the number of
// auxiliary devices.
TrainingModel with_trained_values(const TrainingModel& model, const StateValues& values);

}  // namespace lockstep
