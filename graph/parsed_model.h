// SPDX-License-Identifier: Apache-2.0
// A model's file as ONNX's message, for graph/.
#pragma once

#include <string>

namespace onnx {
class ModelProto;
}

namespace lockstep {

// Reads an untrusted file. Throws, naming the file, for anything but an ONNX model, and for bytes
// that would take too much memory as messages. Tensors are not checked.
onnx::ModelProto parsed_model(const std::string& path);

}  // namespace lockstep
