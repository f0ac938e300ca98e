// SPDX-License-Identifier: Apache-2.0
// Tells users about auxiliary devices that a step does not use.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// A line with their number, the reason and the remedy; "" if all are used. This is no error: a
// configuration may serve any number of replicas.
std::string unused_auxiliaries_note(const TrainingModel& model);

}  // namespace lockstep
