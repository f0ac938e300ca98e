// SPDX-License-Identifier: Apache-2.0
// Detects what an exporter dropped from a network that it optimised for inference. For io.cc.
#pragma once

#include <string>

namespace onnx {
class ModelProto;
}

namespace lockstep {

// Returns a text with the lost layers and the exporter options that keep them; "" if nothing is
// lost.
std::string lost_to_optimisation(const onnx::ModelProto& proto);

}  // namespace lockstep
