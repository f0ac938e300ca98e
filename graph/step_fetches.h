// SPDX-License-Identifier: Apache-2.0
// The values that a run of a step returns.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

// Of a step that updates nothing, a forward pass: the outputs that the network declares, by full
// name. No losses, metrics or checks.
std::vector<std::string> network_outputs(const TrainingModel& model);

// TrainingModel::fetch_values(). A forward pass without a loss is run for its network_outputs(),
// which come behind them.
std::vector<std::string> step_fetches(const TrainingModel& model);

}  // namespace lockstep
