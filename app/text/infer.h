// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/predict/infer.h"
#include "graph/training.h"

namespace lockstep {

// Prints the continuation that a language model, whose values its inference graph contains, writes
// after each prompt file; writes it as JSON into options.out, unless that is empty. `path`: of the
// model, for errors. A file that cannot be continued does not stop the others.
int continue_texts(TrainingModel network, const std::string& path, const InferOptions& options);

}  // namespace lockstep
