// SPDX-License-Identifier: Apache-2.0
// The differences of two models: their graphs, and the facts that a TrainingModel adds.
#pragma once

#include "app/diff/change.h"
#include "lockstep/model_files.h"

namespace lockstep {

struct ModelDifference {
  Changes changes;
  StatePartners states;
  int nodes_a = 0, nodes_b = 0;  // of the compared graphs
  // Networks without a step: constants of b by the names of their partners in a.
  StatePartners constants;
};

// Where one side has no step, compares the inference graphs alone.
ModelDifference differences_of(const TrainingModel& a, const TrainingModel& b);

}  // namespace lockstep
