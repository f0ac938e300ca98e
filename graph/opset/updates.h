// SPDX-License-Identifier: Apache-2.0
// The optimisers of ONNX's training domain as a file may have them: Adagrad, Adam, Momentum.
#pragma once

#include <string>

#include "lockstep/graph.h"

namespace onnx {
class NodeProto;
}

namespace lockstep {

bool is_update(const std::string& domain, const std::string& type);
// Adds the node, written with standard operators. Its outputs keep their names.
void adopt_update(Graph& graph, onnx::NodeProto proto);

}  // namespace lockstep
