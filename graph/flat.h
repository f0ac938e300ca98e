// SPDX-License-Identifier: Apache-2.0
// A training step as the main graph of a file, for programs that do not look into training_info.
#pragma once

#include <string>

#include "lockstep/model_files.h"

namespace lockstep {

// Writes the step with its states as initializers. The outputs are the step's, and the new value of
// every state, which its description names. The file is no training step any more: it lacks the
// bindings. Throws for a model without a step.
void save_flat(const TrainingModel& model, const std::string& path,
               const SaveOptions& options = {});

}  // namespace lockstep
