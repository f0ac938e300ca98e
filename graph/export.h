// SPDX-License-Identifier: Apache-2.0
// Models and graphs as ONNX messages. For graph/ and its tests.
#pragma once

#include <set>
#include <string>

#include "lockstep/training_model.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace lockstep {

// Inputs in `states` become initializers without data, marked external.
void export_graph(const Graph& graph, const std::set<std::string>& states, onnx::GraphProto& proto);

// The model with its state as initializers without data, marked external.
onnx::ModelProto to_onnx(const TrainingModel& model);

}  // namespace lockstep
