// SPDX-License-Identifier: Apache-2.0
// The result of a step of a run.
#pragma once

#include <string>
#include <vector>

#include "lockstep/results.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct StepResult {
  float loss = 0;              // this process's share of the loss
  std::vector<float> numbers;  // this process's shares, in the order of TrainingRun::number_names()
  bool counts = true;          // true if reported means include this step
  std::string skipped;         // the reason why nothing was updated, or ""
  bool skipped_here = false;   // the cause was on this process
};

// The names of a model's numbers besides its loss: its losses, if there are several, and its
// metrics.
std::vector<std::string> numbers_of(const TrainingModel& model);
// The result of a step of `model`, with the numbers of numbers_of().
StepResult result_of(const TrainingModel& model, const Results& answers);

}  // namespace lockstep
