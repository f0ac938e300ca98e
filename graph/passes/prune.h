// SPDX-License-Identifier: Apache-2.0
// Drops nodes that no wanted value depends on.
#pragma once

#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// Returns, for each node, true if any of `wanted` depends on it.
std::vector<bool> needed_nodes(const Graph& graph, const std::vector<Value>& wanted);

// Returns each old value's new number; none: dropped.
std::vector<Value> prune(Graph& graph, const std::vector<Value>& wanted);

}  // namespace lockstep
