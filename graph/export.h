// SPDX-License-Identifier: Apache-2.0
// Models and graphs as ONNX messages. For graph/ and its tests.
#pragma once

#include <set>
#include <string>

#include "lockstep/model_files.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace lockstep {

// Inputs in `states` become initializers without data, marked external.
void export_graph(const Graph& graph, const std::set<std::string>& states, onnx::GraphProto& proto);

// A message without a graph: versions, and the operator sets that the model's graphs need.
onnx::ModelProto headed(const TrainingModel& model);

// Writes the message. Initializers marked external get the states' values, in the message or in
// `<path>.data`.
void save_proto(onnx::ModelProto proto, const std::string& path, const SaveOptions& options);

// The model with its state as initializers without data, marked external.
onnx::ModelProto to_onnx(const TrainingModel& model);

}  // namespace lockstep
