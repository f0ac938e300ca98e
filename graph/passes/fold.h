// Nodes whose result is known before any data comes become constants.
#pragma once

#include <functional>
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

// The same graph with constants for what follows from constants; shapes that depend on them are
// inferred anew. Nothing is computed from the constants in `kept`: they may become parameters.
Graph fold_constants(const Graph& graph, const std::set<std::string>& kept, const Folder& folder);

}  // namespace lockstep
