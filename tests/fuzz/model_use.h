// SPDX-License-Identifier: Apache-2.0
// What commands do with a model once it is loaded.
#pragma once

#include "graph/io.h"

namespace lockstep::fuzz {

// inspect, build: every text of it, and whether it is what it claims to be. Throws where it is not.
void print_and_verify(const LoadedModel& file);
// plan, run, step: the step, or the prediction; run once when its tensors take next to nothing.
void plan_and_run(const TrainingModel& model);

}  // namespace lockstep::fuzz
