// SPDX-License-Identifier: Apache-2.0
// Which values of a graph are equal in every run, as those of replicas are that start equal and
// take the same gradients.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

// A number for each value; values with the same number have the same bits in every run, if the
// inputs listed together in `alike` have. Equal constants, copies, and results of equal nodes on
// equal operands are found. What is random or comes from another process is like nothing else.
std::vector<int> equal_values(const Graph& graph, const std::vector<std::vector<Value>>& alike);

}  // namespace lockstep
