// SPDX-License-Identifier: Apache-2.0
// Operators that draw random numbers: uniform, normal, true with a given probability, by given
// probabilities of classes. A number is a function of the node's source (source.h) and of the
// number's position in the result, so it does not depend on thread timing or on a resume.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

std::vector<Op> random_ops();
std::vector<KernelEntry> random_cpu();
std::vector<KernelEntry> random_cuda();

// "probability nan at [0,3] of 'p' is outside 0..1"; `place` is the position in the operand.
std::string text_of_probability(const std::string& operand, const Dims& dims, double value,
                                int64_t place);
// "row 2 of 'scores', logarithms of probabilities, has no probability above 0, or .."
std::string text_of_row(const std::string& operand, int64_t row);

}  // namespace lockstep
