// ONNX's schemas, whose shape inference is only asked what it can bear.
#pragma once

#include <onnx/defs/schema.h>

namespace lockstep {

// libonnx's registry, but for operators with a window: before their inference runs, it throws Error
// for what libonnx 1.12 does not survive. Lives as long as the process; any thread may ask.
const onnx::ISchemaRegistry& guarded_schemas();

}  // namespace lockstep
