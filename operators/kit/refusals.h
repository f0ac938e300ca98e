// SPDX-License-Identifier: Apache-2.0
// Refusals shared by several families (lockstep/kernel.h). Refusals by type are in dispatch.h.
#pragma once

#include <initializer_list>
#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

// Combines several refusals; gives the first reason.
Refusal every(std::vector<Refusal> refusals);

Refusal takes_types(std::vector<DType> types, std::size_t operand);
Refusal makes_types(std::vector<DType> types);
// "takes float32 or float64, not int8"
std::string text_of_types(const std::vector<DType>& types, DType given);

// Limits the rank of the result.
Refusal up_to_dims(std::size_t most);
// Limits the number of operands.
Refusal up_to_operands(std::size_t most);
// Refuses if one of the first two operands or the result is empty.
std::string not_empty(const KernelRequest& request);
// Accepts an operand that is row-major or channels-last, but no smaller channel blocks.
Refusal whole_channels(std::size_t operand);

}  // namespace lockstep
