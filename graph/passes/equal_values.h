// SPDX-License-Identifier: Apache-2.0
// Values that are equal in every run, such as parameters of replicas that start equal and use the
// same gradients.
#pragma once

#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// Returns a number for each value. Values with the same number have the same bits in every run if
// the inputs listed together in `alike` have. Finds equal constants, copies, and results of equal
// nodes on equal operands. A random value, or a value from another process, equals no other.
std::vector<int> equal_values(const Graph& graph, const std::vector<std::vector<Value>>& alike);

}  // namespace lockstep
