// SPDX-License-Identifier: Apache-2.0
// The network of a model file for other engines.
#pragma once

#include <string>

#include "graph/training.h"

namespace lockstep {

// Its inference graph, with the file's values, in ONNX's operators only. Throws for a training step
// without values, and naming what cannot be written so.
TrainingModel portable_network(const std::string& path);
// The same of a network with values; `path`: where it comes from, for errors.
TrainingModel portable_network(TrainingModel network, const std::string& path);

}  // namespace lockstep
