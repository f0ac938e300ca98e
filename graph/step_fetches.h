// SPDX-License-Identifier: Apache-2.0
// The values that a run of a step returns.
#pragma once

#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// Returns the outputs that the network declares, by full name, if the step is a forward pass
// (updates nothing). Leaves out losses, metrics and checks.
std::vector<std::string> network_outputs(const TrainingModel& model);

// Returns TrainingModel::fetch_values(). If there is no loss, network_outputs() follow.
std::vector<std::string> step_fetches(const TrainingModel& model);

}  // namespace lockstep
