// SPDX-License-Identifier: Apache-2.0
// Schemas of domain ai.lockstep, registered with libonnx.
#pragma once

#include <vector>

#include "lockstep/op.h"

namespace onnx {
class OpSchema;
}

namespace lockstep {

// Registers every record with a signature, the domain first, each once per process; throws if
// libonnx does not know a schema afterwards.
void register_schemas(const std::vector<Op>& ops);

// ONNX's schema of an operator at the opset we write, guarded (guarded_schemas.h), or null.
const onnx::OpSchema* schema_of(const std::string& domain, const std::string& type);

}  // namespace lockstep
