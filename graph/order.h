// SPDX-License-Identifier: Apache-2.0
// Topological sorting of a file's nodes.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

namespace onnx {
class GraphProto;
}

namespace lockstep {

using Names = std::unordered_set<std::string>;

// Operands before users. ONNX requires that order, yet some tools write others. `given`: the values
// that no node makes. Throws for a cycle, and naming a value made by no node or by two.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given);

}  // namespace lockstep
