// SPDX-License-Identifier: Apache-2.0
// Networks of model files for other engines.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// The inference graph with the file's values, in ONNX's standard operators and in operators that
// save_model writes as local functions. Throws for a training step without values. Throws naming an
// operator that has no standard form.
TrainingModel portable_network(const std::string& path);
// Converts a network with values. `path` is its origin, for errors.
TrainingModel portable_network(TrainingModel network, const std::string& path);

}  // namespace lockstep
