// SPDX-License-Identifier: Apache-2.0
// A process's part of the steps of a run.
#pragma once

#include <functional>
#include <vector>

#include "app/train/learning.h"
#include "lockstep/processes.h"

namespace lockstep {

// Every process builds the steps of all replicas and keeps its own part. First the processes check
// that their configurations agree. `before_data` then makes checks that need no data.
std::vector<TrainingModel> own_steps(
    Learning& task, Comm* comm, const std::function<void()>& before_data = [] {});

// The division of a batch over replicas and their micro-batches.
BatchShares shares_of(const Learning& task, int64_t replicas);
// The rows of this process, which has the part `own` of a step.
Rows rows_of_process(const Learning& task, const TrainingModel& own);

}  // namespace lockstep
