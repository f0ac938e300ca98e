// SPDX-License-Identifier: Apache-2.0
// Lines of `train --debug` on a step before its first run.
#pragma once

#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// A line for each trained or frozen parameter, in the order of the network. Then the sizes of
// gradients before and after packing, if gradients are summed over replicas.
std::vector<std::string> debug_lines(const TrainingModel& step);

}  // namespace lockstep
