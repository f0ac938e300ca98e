// SPDX-License-Identifier: Apache-2.0
// Topological sorting of a file's nodes.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace lockstep {

using Names = std::unordered_set<std::string>;

// Returns node indices, operands before users. ONNX requires this order, but some tools write
// others. `given`: values that no node produces. Throws for a cycle, and for a value with no
// producer or two; the error names the nodes or the value.
// A node also reads the values that its subgraphs take from outside.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given);

// Names that the nodes and outputs of a subgraph take from outside.
Names captured_names(const onnx::GraphProto& subgraph);
// Names that the subgraphs of a node take from outside.
Names captured_names(const onnx::NodeProto& node);

}  // namespace lockstep
