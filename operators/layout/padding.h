// SPDX-License-Identifier: Apache-2.0
// Padded channel blocks (TensorDesc) in CPU kernels.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// True if `channels` fill at least half of their padded channel blocks. Padding pays although all
// kernels read and write it: without padding each convolution needs a reorder, which reads and
// writes the tensor once more. It does not pay if most of the tensor would be padding.
constexpr bool worth_padding(int64_t channels, int64_t block) { return 2 * channels >= block; }

// Marks a candidate that treats memory as a flat list and maps 0 to 0. The kernel computes padding
// as if it were channels, so padding stays 0.
Candidate keeping_zeros(Candidate candidate);

// Clears padding after a kernel that turned zeros into other numbers. Allocates nothing.
void clear_padding(const Tensor& tensor);

}  // namespace lockstep
