// SPDX-License-Identifier: Apache-2.0
// A process's share of the steps of a run.
#pragma once

#include <functional>
#include <vector>

#include "app/train/learning.h"

namespace lockstep {

// Every process builds the steps of all replicas and keeps its part; before that they check that
// their configurations agree. `before_data`: checks that cost no look at the data.
std::vector<TrainingModel> own_steps(
    Learning& task, Comm* comm, const std::function<void()>& before_data = [] {});

// The division of a batch into parts that go through the network together.
BatchShares shares_of(const Learning& task, int64_t replicas);
// The rows of this process, which has this part of a step.
Rows rows_of_process(const Learning& task, const TrainingModel& own);

}  // namespace lockstep
