// Nodes whose result is known before any data comes become constants.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

// Computes a node all of whose inputs are constants; nothing where it cannot or should not.
using Folder = std::function<std::optional<std::vector<Literal>>(const Node& node)>;

// The results of `node`, if they follow from constants and shapes.
std::optional<std::vector<Literal>> folded(const Node& node, const Folder& folder);

struct FoldOptions {
  std::set<std::string> kept = {};                     // constants that nothing is computed from
  std::map<std::string, TensorType> input_types = {};  // in place of declared ones
};
// The same graph with constants for what follows from constants and shapes; all shapes are inferred
// anew.
Graph fold_constants(const Graph& graph, const FoldOptions& options, const Folder& folder);

}  // namespace lockstep
