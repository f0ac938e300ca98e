// SPDX-License-Identifier: Apache-2.0
// Explains to users why a step sums no gradients over replicas.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// Returns "" for a step that sums gradients.
std::string why_no_sums(const TrainingModel& model);

}  // namespace lockstep
