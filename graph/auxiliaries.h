// SPDX-License-Identifier: Apache-2.0
// Auxiliary devices of a step. Their indices follow the replicas'. An auxiliary device holds no
// replica, no state and no part of the batch; it sums for the replicas. The model's metadata has
// the number of auxiliary devices.
#pragma once

#include "lockstep/training_model.h"

namespace lockstep {

// Returns the number in the metadata, 0 if there is none. Throws for an invalid number.
int auxiliaries_of(const TrainingModel& model);
void set_auxiliaries(TrainingModel& model, int count);

// The number of devices that a session of the model needs: replicas, then auxiliary devices.
inline int places_of(const TrainingModel& model) { return model.replicas + auxiliaries_of(model); }

// The number of auxiliary devices that no node of the step runs on.
int unused_auxiliaries(const TrainingModel& model);

}  // namespace lockstep
