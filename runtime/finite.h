// SPDX-License-Identifier: Apache-2.0
// Non-finite numbers: finds the first in a tensor in a single pass over its memory.
#pragma once

#include <string>

#include "lockstep/tensor.h"

namespace lockstep {

// Returns the index of the first NaN or infinity. Returns -1 if all are finite, or if the type has
// no infinities.
int64_t first_not_finite(const Tensor& tensor);
int64_t first_nan(const Tensor& tensor);  // ignores infinities
bool all_finite(const float* values, int64_t count);

// Returns the text of a floating-point value: nan, inf, -inf, or its digits.
std::string text_of_value(const Tensor& tensor, int64_t place);
// Returns the position in a row-major tensor: [3,0,5,7].
std::string text_of_place(const Dims& dims, int64_t place);

}  // namespace lockstep
