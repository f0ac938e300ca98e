// SPDX-License-Identifier: Apache-2.0
// The replicas of a collective (placement.h): all of a step, or a group of them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

// The replicas of `node`, a collective: its output i lives on the i-th. Throws for a node that
// names none.
std::vector<int> group_of(const Node& node);

}  // namespace lockstep
