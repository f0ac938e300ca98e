// SPDX-License-Identifier: Apache-2.0
// A network's amount of computation.
#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/training_model.h"

namespace lockstep {

// The number of parameter values, of one replica.
int64_t parameter_values(const TrainingModel& model);

// The multiply-adds of convolutions and matrix products in the inference graph for one image of
// these dimensions, [channels, height, width]; other operators cost little. Empty if some shapes
// are unknown.
std::optional<int64_t> multiply_adds(const TrainingModel& model, const Dims& picture);

}  // namespace lockstep
