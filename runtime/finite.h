// SPDX-License-Identifier: Apache-2.0
// Non-finite numbers: finds a tensor's first one in a single pass over its memory.
#pragma once

#include <string>

#include "runtime/tensor.h"

namespace lockstep {

// The index of the first NaN or infinity; -1: all finite, or the type has no infinities.
int64_t first_not_finite(const Tensor& tensor);
int64_t first_nan(const Tensor& tensor);  // ignores infinities
bool all_finite(const float* values, int64_t count);

// The text of a floating-point value: nan, inf, -inf, or its digits.
std::string text_of_value(const Tensor& tensor, int64_t place);
// The position in a row-major tensor: [3,0,5,7].
std::string text_of_place(const Dims& dims, int64_t place);

}  // namespace lockstep
