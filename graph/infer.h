// Shape inference of one node, at insertion. ONNX's whole-graph inference is lax (a Conv with the
// wrong channel count passes) and its errors name no node; this one runs ONNX's law for the single
// node, then ours.
#pragma once

#include <vector>

#include "graph/op.h"

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

// Throws Error with the reason alone; the caller adds node and shapes.
Inferred infer_node(const Op& op, onnx::NodeProto& proto, const InferenceInputs& inputs);

}  // namespace lockstep
