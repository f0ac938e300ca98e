// SPDX-License-Identifier: Apache-2.0
// Files of opset 18 and newer, and operators without a kernel. libonnx 1.12 supports nothing past
// opset 17 and cannot convert down, so import decomposes each node into opset 17 before libonnx
// sees it. The table of changes, by operator, is in newer_opsets.cc.
#pragma once

#include <string>

#include "lockstep/graph.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kNewestIrVersion = 14;

// True for an operator that is decomposed at `opset` into other operators of opset 17: opset 17
// lacks the operator, or Lockstep has no kernel for it.
bool written_with_older(const std::string& type, int64_t opset);

// Adds a node of ONNX's domain, read from a file at `opset`, which is newer than 17 unless the
// operator is rewritten at every opset; its outputs keep their names. Throws
// Unsupported, naming node, operator and opset, if the node cannot be decomposed.
void adopt_newer(Graph& graph, onnx::NodeProto proto, int64_t opset);

}  // namespace lockstep
