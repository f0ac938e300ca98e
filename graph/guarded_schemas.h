// SPDX-License-Identifier: Apache-2.0
// ONNX's schemas, with shape inference guarded against inputs that crash or hang it.
#pragma once

#include <onnx/defs/schema.h>

namespace lockstep {

// libonnx's registry, except that inference of some operators first throws Error for inputs that
// crash or hang libonnx 1.12. Lives as long as the process; thread-safe.
const onnx::ISchemaRegistry& guarded_schemas();

}  // namespace lockstep
