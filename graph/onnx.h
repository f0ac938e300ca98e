// SPDX-License-Identifier: Apache-2.0
// The only include of ONNX's protobuf types, for the sources of graph/ only, and the versions that
// Lockstep writes. Debian 12's libonnx 1.12 supports IR 8 and opset 17.
#pragma once

#include <onnx/onnx_pb.h>

#include "graph/external.h"
#include "lockstep/attributes.h"
#include "lockstep/types.h"

namespace lockstep {

inline constexpr int64_t kIrVersion = 8;
inline constexpr int64_t kOpset = 17;
inline constexpr int64_t kOwnOpset = 1;

// The node's name, or its first output: names of nodes are optional.
const std::string& label_of(const onnx::NodeProto& node);
TensorType from_proto(const onnx::TypeProto& proto);
void to_proto(const TensorType& type, onnx::TypeProto& proto);
// Throws unless a tensor holds the bytes or values that its type and shape require, in one field,
// each in range. `what` names the tensor in errors. Sizes of a tensor are untrusted before this
// check. `reads`: checks the length of external data, too.
void check_tensor(const onnx::TensorProto& proto, const DataPlace& place, const std::string& what,
                  bool reads = true);
Literal from_proto(const onnx::TensorProto& proto, const DataPlace& place, const std::string& what);
// Moves the bytes of external data into the message.
void embed(onnx::TensorProto& proto, const DataPlace& place, const std::string& what);
void to_proto(const Literal& literal, onnx::TensorProto& proto);

}  // namespace lockstep
