// SPDX-License-Identifier: Apache-2.0
// The replicas of a collective (placement.h): all replicas of a step, or a group of replicas.
#pragma once

#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// Returns the replicas of the collective `node`: output i is on the i-th. Throws unless the node
// names one replica per output.
std::vector<int> group_of(const Node& node);

}  // namespace lockstep
