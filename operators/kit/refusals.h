// Refusals that several rooms share (runtime/kernel_table.h); those by type are in dispatch.h.
#pragma once

#include <initializer_list>
#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

// The first reason of several.
Refusal every(std::vector<Refusal> refusals);

Refusal takes_types(std::vector<DType> types, std::size_t operand);
Refusal makes_types(std::vector<DType> types);
// "takes float32 or float64, not int8"
std::string text_of_types(const std::vector<DType>& types, DType given);

// A result of at most so many dimensions.
Refusal up_to_dims(std::size_t most);
// At most so many operands.
Refusal up_to_operands(std::size_t most);
// The first two operands and the result have elements.
std::string not_empty(const KernelRequest& request);
// An operand that is row-major, or whose channels lie all together: no smaller blocks of them.
Refusal whole_channels(std::size_t operand);

}  // namespace lockstep
