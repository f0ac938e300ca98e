// SPDX-License-Identifier: Apache-2.0
// Portable models: ONNX's operators only.
#pragma once

#include "lockstep/graph.h"

namespace lockstep {

// The treatment of nodes whose bodies have values with sizes that depend on data. A plan has no
// such values, so Lockstep could not run the bodies.
enum class OpenBodies {
  inlined,
  remain,  // the nodes remain, for a file with local functions (graph/local_functions.h)
};

// Returns the graph with nodes of ai.lockstep replaced by their bodies (Op::body). Throws, naming
// every node without a body and the reason.
Graph in_standard_operators(const Graph& graph, OpenBodies open = OpenBodies::inlined);

}  // namespace lockstep
