// SPDX-License-Identifier: Apache-2.0
// Mixed precision: forward and backward pass in 16-bit floats. Prediction stays float32: the
// inference graph is the part of the file that other engines run.
#pragma once

#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// See graph/passes/precision.h. Losses, metrics, checks, gradients and new states keep name and
// type.
void lower_precision(TrainingModel& model, DType narrow);

// float32, bfloat16 or float16; throws for any other text.
DType parse_precision(const std::string& text);

}  // namespace lockstep
