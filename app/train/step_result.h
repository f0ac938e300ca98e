// SPDX-License-Identifier: Apache-2.0
// What a step of a run tells.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"
#include "runtime/answers.h"

namespace lockstep {

struct StepResult {
  float loss = 0;              // this process's share of it
  std::vector<float> numbers;  // its shares, in the order of TrainingRun::number_names()
  bool counts = true;          // whether reported means include this step
  std::string skipped;         // the reason why nothing was updated, or ""
  bool skipped_here = false;   // the cause was on this process
};

// The names of a model's numbers besides its loss: its losses, where there are several, and its
// metrics.
std::vector<std::string> numbers_of(const TrainingModel& model);
// Of one step of that model, with those numbers.
StepResult result_of(const TrainingModel& model, const Answers& answers);

}  // namespace lockstep
