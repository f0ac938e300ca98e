// SPDX-License-Identifier: Apache-2.0
// Auxiliary devices of a step: places behind its replicas that hold no replica, no state and no
// part of the batch; they sum for the replicas. A model's metadata says how many there are.
#pragma once

#include "graph/training.h"

namespace lockstep {

// 0 unless the metadata says otherwise. Throws for metadata that is no number.
int auxiliaries_of(const TrainingModel& model);
void set_auxiliaries(TrainingModel& model, int count);

// The number of devices that a session of the model takes: replicas, then auxiliary devices.
inline int places_of(const TrainingModel& model) { return model.replicas + auxiliaries_of(model); }

// The number of auxiliary devices that no node of the step runs on.
int unused_auxiliaries(const TrainingModel& model);

}  // namespace lockstep
