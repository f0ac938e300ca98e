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

// One type per output. Throws Error with the reason alone; the caller adds node and shapes.
std::vector<TensorType> infer_node(const Op& op, onnx::NodeProto& proto,
                                   const InferenceInputs& inputs);

}  // namespace lockstep
