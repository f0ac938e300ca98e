// SPDX-License-Identifier: Apache-2.0
// Verification of a model: ONNX's own checker and strict inference, on top of our laws.
#pragma once

#include "graph/training.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace lockstep {

// Inference graph and algorithm as one graph, as the TrainingInfoProto text defines it. ONNX's
// checker skips training_info, so this graph is checked instead.
onnx::GraphProto combine(const onnx::ModelProto& model);

// ONNX's checker and strict shape inference over combine(model), then the bindings: keys unique,
// both ends exist, same type and shape. Throws Error.
void verify(const onnx::ModelProto& model);

// The same for a model in memory; also checks that replicas are complete and alike, states are
// inputs of the step graph, losses and metrics exist.
void verify(const TrainingModel& model);

}  // namespace lockstep
