// How much a network computes.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/training.h"

namespace lockstep {

// Values of parameters, of one replica.
int64_t parameter_values(const TrainingModel& model);

// Multiplications with an addition that convolutions and matrix products of the inference graph
// take for one picture of these dimensions, [channels, height, width]; all else is small beside
// them. Nothing where not all of their shapes are known.
std::optional<int64_t> multiply_adds(const TrainingModel& model, const Dims& picture);

}  // namespace lockstep
