// SPDX-License-Identifier: Apache-2.0
// The steps of a plan that make the operands of each step: the edges that a picture of a plan
// draws.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

// Returns, for each step, the numbers of the steps whose results it reads, ascending. All parts of
// a collective make each of its results. A view reads its source. Feeds and states have no makers,
// except a state's new value that is read within the run.
std::vector<std::vector<int>> makers_of_steps(const Plan& plan);

// Returns the users of each step's results: the same edges, from maker to user.
std::vector<std::vector<int>> users_of_steps(const std::vector<std::vector<int>>& makers);

}  // namespace lockstep
