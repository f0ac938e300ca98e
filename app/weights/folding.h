// SPDX-License-Identifier: Apache-2.0
// Changes of the values that a detector takes from a classifier. Sums are computed in float64.
#pragma once

#include <string>

#include "app/weights/rules.h"

namespace lockstep {

// The running statistics beside a batch norm's scale or bias: "bn1.running_var" of "bn1.weight".
std::string statistic_beside(const std::string& name, const char* statistic);

// A batch norm's scale: weight / sqrt(variance + epsilon).
Literal folded_scale(const TakenTensor& tensor);
// A batch norm's bias: bias - mean * scale.
Literal folded_bias(const TakenTensor& tensor);
// The weight of the first convolution for a detector's pictures: channels in the order blue, green,
// red, values from 0 to 255 from which only the mean is subtracted.
Literal with_detectors_pictures(const TakenTensor& tensor);

}  // namespace lockstep
