// SPDX-License-Identifier: Apache-2.0
// Images that are fed as bytes, a quarter of what their floats take, and that the network's first
// nodes normalise: Cast, Mul and Sub, which any ONNX engine runs and a plan computes in one pass.
#pragma once

#include <string>

#include "lockstep/imported.h"

namespace lockstep {

// An input of bytes, [N, C, ..], as float32. Throws unless `scale` is for that many channels.
Value byte_input(Net& net, const std::string& name, const Shape& shape, const ByteScale& scale,
                 const Where& where = Where::here());

}  // namespace lockstep
