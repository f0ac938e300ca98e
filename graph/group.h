// The replicas of a collective (placement.h): all of a step, or a group of them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

// Output i of the collective lives on the i-th of them. Throws for a node that names none.
std::vector<int> group_of(const Node& node);

}  // namespace lockstep
