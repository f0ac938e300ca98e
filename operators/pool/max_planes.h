// SPDX-License-Identifier: Apache-2.0
// Max pooling of row-major planes. oneDNN is fast for channel blocks, but has only plain code for
// row-major planes. The first of equal values is the maximum, and NaN is above all numbers.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// Refuses channel blocks, dilation, and any other number than two of spatial dimensions.
std::string not_row_major_planes(const KernelRequest& request);

std::unique_ptr<Kernel> max_of_planes(const KernelRequest& request);
std::unique_ptr<Kernel> max_of_planes_grad(const KernelRequest& request);

}  // namespace lockstep
