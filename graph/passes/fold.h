// SPDX-License-Identifier: Apache-2.0
// Constant folding.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

// Computes a node whose inputs are all constants; empty if it cannot or should not.
using Folder = std::function<std::optional<std::vector<Literal>>(const Node& node)>;

// The results of `node`, if they follow from constants and shapes.
std::optional<std::vector<Literal>> folded(const Node& node, const Folder& folder);

struct FoldOptions {
  std::set<std::string> kept = {};                     // constants whose users are not folded
  std::map<std::string, TensorType> input_types = {};  // instead of the declared ones
};
// The same graph, with all that follows from constants and shapes folded to constants; all shapes
// are inferred anew.
Graph fold_constants(const Graph& graph, const FoldOptions& options, const Folder& folder);

}  // namespace lockstep
