// The one include of ONNX's protobuf types, for the sources of graph/ only, and the versions that
// Lockstep writes. Debian 12's libonnx 1.12 knows IR 8 and opset 17.
#pragma once

#include <onnx/onnx_pb.h>

#include "graph/literal.h"
#include "graph/shape.h"

namespace lockstep {

inline constexpr int64_t kIrVersion = 8;
inline constexpr int64_t kOpset = 17;
inline constexpr int64_t kOwnOpset = 1;

TensorType from_proto(const onnx::TypeProto& proto);
void to_proto(const TensorType& type, onnx::TypeProto& proto);
// `directory` is where external data lies; `what` names the tensor in errors.
Literal from_proto(const onnx::TensorProto& proto, const std::string& directory,
                   const std::string& what);
void to_proto(const Literal& literal, onnx::TensorProto& proto);

}  // namespace lockstep
