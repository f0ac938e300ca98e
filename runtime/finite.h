// Numbers that are none: where a tensor holds the first, in one pass of its memory.
#pragma once

#include <string>

#include "runtime/tensor.h"

namespace lockstep {

// Its place in memory; -1: all are finite, or of a type without infinities.
int64_t first_not_finite(const Tensor& tensor);
int64_t first_nan(const Tensor& tensor);  // passes over infinities
bool all_finite(const float* values, int64_t count);

// What a value of a floating type is: nan, inf, -inf, or its digits.
std::string text_of_value(const Tensor& tensor, int64_t place);
// Where in a row-major tensor that is: [3,0,5,7].
std::string text_of_place(const Dims& dims, int64_t place);

}  // namespace lockstep
