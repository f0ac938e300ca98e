// SPDX-License-Identifier: Apache-2.0
// The gradient of maxima over windows of channel blocks. oneDNN needs a record of the maxima's
// places from a forward pass, and three passes over memory; this finds each window's maximum again.
#pragma once

#include "operators/kit/dispatch.h"
#include "runtime/kernel/table.h"

namespace lockstep {

using MaxOfBlocks = Types<float, BFloat16>;

// Refuses row-major operands, and all but two spatial dimensions without dilation.
std::string not_blocks_of_planes(const KernelRequest& request);

std::unique_ptr<Kernel> max_of_blocks_grad(const KernelRequest& request);

}  // namespace lockstep
