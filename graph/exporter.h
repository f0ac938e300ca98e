// SPDX-License-Identifier: Apache-2.0
// Detects what an exporter dropped from a network that it optimised for inference. For io.cc.
#pragma once

#include <string>

namespace onnx {
class ModelProto;
}

namespace lockstep {

// The layers that cannot train any more, and the exporter options that keep them; "" if none are
// found.
std::string lost_to_optimisation(const onnx::ModelProto& proto);

}  // namespace lockstep
