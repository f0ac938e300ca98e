// Does what a file says of its training step hold? The metadata name inputs, states, losses of
// every replica, and everything behind load_model() counts on them.
#pragma once

#include "graph/training.h"

namespace lockstep {

// Throws naming the role and the value that is missing, doubled or of another kind.
void check_roles(const TrainingModel& model);

}  // namespace lockstep
