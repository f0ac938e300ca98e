// SPDX-License-Identifier: Apache-2.0
// Shape inference of one node when it is added. ONNX's whole-graph inference is lax: it accepts a
// Conv with the wrong channel count, and its errors name no node. This inference runs ONNX's law
// for the single node, then ours.
#pragma once

#include <vector>

#include "lockstep/op.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

struct InferenceInputs {
  std::vector<const TensorType*> types;
  std::vector<const Literal*> constants;
  std::vector<const Shape*> contents;
};

struct Inferred {
  std::vector<TensorType> types;  // one per output
  std::optional<Shape> content;   // of output 0
};

// Throws Error with the bare reason; the caller adds node and shapes.
Inferred infer_node(const Op& op, onnx::NodeProto& proto, const InferenceInputs& inputs);

}  // namespace lockstep
