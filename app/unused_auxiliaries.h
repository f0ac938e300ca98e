// SPDX-License-Identifier: Apache-2.0
// Auxiliary devices that a step has no use for, as a user is told.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// One line with their number, the reason and the remedy; "" if all are used. No error: one
// configuration may serve any number of replicas.
std::string unused_auxiliaries_note(const TrainingModel& model);

}  // namespace lockstep
