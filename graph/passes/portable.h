// SPDX-License-Identifier: Apache-2.0
// Portable models: ONNX's operators only.
#pragma once

#include "lockstep/graph.h"

namespace lockstep {

// Returns the graph with nodes of ai.lockstep replaced by their bodies (Op::body). Throws, naming
// every node without a body and the reason.
Graph in_standard_operators(const Graph& graph);

}  // namespace lockstep
