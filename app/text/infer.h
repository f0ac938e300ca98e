// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Prints the continuation of each prompt file by a language model with values. Writes the
// continuations as JSON into the folder options.out unless it is empty. `path` is the model's, for
// errors. A file that cannot be continued does not stop the others.
int continue_texts(TrainingModel network, const std::string& path, const InferOptions& options);

}  // namespace lockstep
