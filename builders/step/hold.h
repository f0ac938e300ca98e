// SPDX-License-Identifier: Apache-2.0
// Inputs of the network become states that hold a batch, and each step's minibatch a slice of them.
#pragma once

#include "builders/resident/inputs.h"
#include "builders/step/one_replica.h"

namespace lockstep {

// Throws naming an input that the network does not have, or whose rows are not those of the others.
void hold_inputs(OneReplica& one, const ResidentInputs& resident);

}  // namespace lockstep
