// SPDX-License-Identifier: Apache-2.0
// Portable models: ONNX's operators only.
#pragma once

#include "graph/graph.h"

namespace lockstep {

// The same graph with its nodes of ours replaced by their bodies (Op::body). Throws, naming every
// node that has none and the reason.
Graph in_standard_operators(const Graph& graph);

}  // namespace lockstep
