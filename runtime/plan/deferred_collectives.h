// SPDX-License-Identifier: Apache-2.0
// Chooses collectives of CPU workers that run at the end of a step. Part of pass 3 of compile().
#pragma once

#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// Workers that synchronise after every gradient wait each time for the slowest worker and for the
// worker that updates a parameter. But a postponed collective keeps its operands alive. So
// collectives are chosen by the bytes of their operands, fewest first, as long as the peak of live
// bytes grows by at most a sixth. (Workspaces are not counted: kernels are chosen later.) Only
// collectives with operands made by nodes are chosen: a state is overwritten within the step.
std::vector<int> deferred_collectives(const Graph& graph, std::vector<int> meetings);

}  // namespace lockstep
