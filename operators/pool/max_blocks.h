// SPDX-License-Identifier: Apache-2.0
// The gradient of max pooling of channel blocks. oneDNN needs the indices of the maxima, recorded
// in a forward pass, and three passes over memory. This kernel finds each window's maximum again.
#pragma once

#include "lockstep/kernel.h"
#include "operators/kit/dispatch.h"

namespace lockstep {

using MaxOfBlocks = Types<float, BFloat16>;

// Refuses row-major operands, dilation, and any other number than two of spatial dimensions.
std::string not_blocks_of_planes(const KernelRequest& request);

std::unique_ptr<Kernel> max_of_blocks_grad(const KernelRequest& request);

}  // namespace lockstep
