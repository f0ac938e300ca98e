// SPDX-License-Identifier: Apache-2.0
// Checks a file's claims about its training step. The metadata names inputs, states and losses of
// every replica, and all code after load_model() relies on these names.
#pragma once

#include "lockstep/training_model.h"

namespace lockstep {

// Throws naming the role and the value that is missing, repeated or of the wrong kind.
void check_roles(const TrainingModel& model);

}  // namespace lockstep
