// SPDX-License-Identifier: Apache-2.0
// Padded channel blocks (TensorDesc) in kernels of the CPU.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// Whether convolutions want so few channels in blocks. Padding pays although all kernels read and
// write it, unless most is padding: a reorder reads and writes the tensor once more for each
// convolution.
constexpr bool worth_padding(int64_t channels, int64_t block) { return 2 * channels >= block; }

// For kernels that treat memory as a flat list: a candidate that makes 0 of zeros. It computes
// padding as if it were channels, and so keeps it 0.
Candidate keeping_zeros(Candidate candidate);

// After a kernel that made other numbers of zeros. Allocates nothing.
void clear_padding(const Tensor& tensor);

}  // namespace lockstep
