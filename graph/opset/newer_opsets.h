// Files of opset 18 and newer. libonnx 1.12 knows nothing past opset 17 and cannot convert down, so
// each node of such a file is put into the words of opset 17 as it enters a graph, before libonnx
// sees it. What changed, operator by operator, is the table in newer_opsets.cc.
#pragma once

#include <string>

#include "graph/graph.h"

namespace lockstep {

inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kNewestIrVersion = 14;

// Is `type`, an operator that opset 17 lacks, written with older ones at `opset`?
bool written_with_older(const std::string& type, int64_t opset);

// Adds a node of ONNX's own domain, read from a file at `opset`, to the graph, under the names of
// its outputs. Throws Unsupported naming node, operator and opset where that cannot be done.
void adopt_newer(Graph& graph, onnx::NodeProto proto, int64_t opset);

}  // namespace lockstep
