// SPDX-License-Identifier: Apache-2.0
// Constant folding.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// Computes a node with constant inputs. Returns nothing if it cannot or should not.
using Folder = std::function<std::optional<std::vector<Literal>>(const Node& node)>;

// Returns the results of `node` if they follow from constants and shapes.
std::optional<std::vector<Literal>> folded(const Node& node, const Folder& folder);

struct FoldOptions {
  std::set<std::string> kept = {};                     // constants whose users are not folded
  std::map<std::string, TensorType> input_types = {};  // replace the declared types
};
// Returns the graph with all values that follow from constants and shapes folded to constants. All
// shapes are inferred anew.
Graph fold_constants(const Graph& graph, const FoldOptions& options, const Folder& folder);

}  // namespace lockstep
