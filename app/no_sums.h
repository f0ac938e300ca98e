// SPDX-License-Identifier: Apache-2.0
// Why a step sums no gradients over replicas, as a user is told.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// "" for a step that sums some.
std::string why_no_sums(const TrainingModel& model);

}  // namespace lockstep
