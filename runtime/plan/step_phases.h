// SPDX-License-Identifier: Apache-2.0
// The phases of a training step's plan.
#pragma once

#include <vector>

#include "graph/phases.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// Returns the phase of each step of a plan for a graph of `model`. A step has the phase of the node
// that makes its results; a step that only a plan has, such as a change of layout, has the phase of
// its user. Steps of other graphs than the model's step are `forward`.
std::vector<Phase> phases_of(const Plan& plan, const TrainingModel& model);

}  // namespace lockstep
