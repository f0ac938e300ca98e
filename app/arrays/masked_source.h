// SPDX-License-Identifier: Apache-2.0
// The tensors of the data sets of pictures with masks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/arrays/config.h"

namespace lockstep {

inline constexpr const char *kImageTensor = "image", *kMaskTensor = "mask";

// The outputs that a loss or a metric compares with masks: they are scores of classes. By output,
// the score above which a single channel is the class 1.
std::map<std::string, double> mask_limits_of(const ArraysConfig& config);

}  // namespace lockstep
