// SPDX-License-Identifier: Apache-2.0
// Which meetings of CPU workers come at the end of a step. Part of pass 3 of compile().
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

// Workers that meet after every gradient wait each time for the one that is slower just then, and
// for the one that updates a parameter meanwhile. But until a meeting its operands keep their
// memory. So meetings are chosen by the bytes of their operands, fewest first, as long as the
// values that live at once grow by no more than a sixth. (What kernels need while they run is not
// counted: none is chosen yet.) Only collectives whose operands nodes make are chosen: a state is
// overwritten within the step.
std::vector<int> late_meetings(const Graph& graph, std::vector<int> meetings);

}  // namespace lockstep
