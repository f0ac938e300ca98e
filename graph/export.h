// SPDX-License-Identifier: Apache-2.0
// Graph -> GraphProto. For io.cc.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace onnx {
class GraphProto;
}

namespace lockstep {

// Inputs in `states` become initializers without data, marked external.
void export_graph(const Graph& graph, const std::set<std::string>& states, onnx::GraphProto& proto);

}  // namespace lockstep
