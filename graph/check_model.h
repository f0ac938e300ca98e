// What a stranger could have written wrong into a model, asked before ONNX's own code sees it:
// libonnx believes sizes, divides by strides and looks for the makers of outputs.
#pragma once

#include "graph/external.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

class OpSet;

// Throws naming the tensor, value or node and what is wrong with it: every tensor against its
// shape, types and sizes of values, nodes and their attributes, in every graph of the model. Puts
// the nodes of the inference graph in order, operands first, and takes functions out: `ops` has
// none that could be called.
void check_model(onnx::ModelProto& proto, const OpSet& ops, const DataPlace& place);

}  // namespace lockstep
