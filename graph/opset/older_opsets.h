// SPDX-License-Identifier: Apache-2.0
// Files of opset 16 and older, through ONNX's version converter.
#pragma once

#include <string>

#include "graph/external.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

// Returns the model at our opset or a newer one: unchanged if its operators mean the same, else
// converted. Throws Unsupported if the conversion fails. External data of a converted model is
// embedded: the converter would drop it.
onnx::ModelProto at_least_our_opset(onnx::ModelProto proto, const DataPlace& place);

}  // namespace lockstep
