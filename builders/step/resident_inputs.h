// SPDX-License-Identifier: Apache-2.0
// Replaces inputs of the network by states that hold a batch. Each step reads its minibatch as a
// slice of the states.
#pragma once

#include "builders/resident/inputs.h"
#include "builders/step/one_replica.h"

namespace lockstep {

// Throws if the network lacks an input, or if first dimensions of inputs differ. The error names
// the input.
void hold_resident_inputs(OneReplica& one, const ResidentInputs& resident);

}  // namespace lockstep
