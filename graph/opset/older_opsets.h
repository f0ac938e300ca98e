// SPDX-License-Identifier: Apache-2.0
// Files of opset 16 and older, through ONNX's version converter.
#pragma once

#include <string>

#include "graph/external.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

// The model at our opset or a newer one: unchanged if its operators mean the same there, else
// through ONNX's version converter. Throws Unsupported if that fails. External data of a converted
// model is embedded: the converter would drop it.
onnx::ModelProto at_least_our_opset(onnx::ModelProto proto, const DataPlace& place);

}  // namespace lockstep
