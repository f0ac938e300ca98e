// SPDX-License-Identifier: Apache-2.0
// The operations of commands on a loaded model.
#pragma once

#include "app/model_source.h"
#include "lockstep/model_files.h"

namespace lockstep::fuzz {

// A batch of two rows for each part of each replica.
SourcedModel with_two_rows(LoadedModel file);
// inspect, build: prints every text of the model and verifies it. Throws if the model is invalid.
void print_and_verify(const SourcedModel& source);
// plan, run, step: plans the step or the prediction. Runs it once if its tensors are small.
void plan_and_run(const TrainingModel& model);

}  // namespace lockstep::fuzz
