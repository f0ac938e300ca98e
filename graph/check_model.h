// SPDX-License-Identifier: Apache-2.0
// Validation of untrusted models before ONNX's own code sees them: libonnx trusts sizes, divides by
// strides and searches for the makers of outputs.
#pragma once

#include "graph/external.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

class OpSet;

// Throws naming the tensor, value or node and its error. Checks every tensor against its shape,
// types and sizes of values, nodes and their attributes, in every graph of the model. Sorts the
// nodes of the inference graph, operands first, and removes functions, which `ops` never calls.
void check_model(onnx::ModelProto& proto, const OpSet& ops, const DataPlace& place);

}  // namespace lockstep
