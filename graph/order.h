// The order of a file's nodes.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

namespace onnx {
class GraphProto;
}

namespace lockstep {

using Names = std::unordered_set<std::string>;

// Operands before users. ONNX demands that order of files, yet tools write others. `given` are
// the values that no node makes. Throws naming a value that nothing makes, or two nodes do, and a
// cycle.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const Names& given);

}  // namespace lockstep
