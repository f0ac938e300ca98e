// SPDX-License-Identifier: Apache-2.0
// Verification of a model: ONNX's own checker and strict inference, on top of our laws.
#pragma once

#include "lockstep/training_model.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace lockstep {

// Returns inference graph and algorithm as one graph, as the text of TrainingInfoProto defines.
// ONNX's checker skips training_info, so this graph is checked instead.
onnx::GraphProto combine(const onnx::ModelProto& model);

// ONNX's checker and strict shape inference over combine(model), then the bindings: keys unique,
// both ends exist, same type and shape. Throws Error.
void verify(const onnx::ModelProto& model);

// Verifies a model in memory. Also checks that every replica has all values, that states are inputs
// of the step graph with the same type on all replicas, and that losses and metrics exist.
void verify(const TrainingModel& model);

}  // namespace lockstep
