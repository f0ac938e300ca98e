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

// Returns node indices, operands before users. ONNX requires this order, but some tools write
// others. `given`: values that no node produces. Throws for a cycle, and for a value with no
// producer or two; the error names the nodes or the value.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given);

}  // namespace lockstep
