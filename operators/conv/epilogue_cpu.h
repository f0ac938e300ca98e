// SPDX-License-Identifier: Apache-2.0
// The work of fused convolutions besides the convolution, on CPUs.
#pragma once

#include "operators/conv/epilogue.h"

namespace lockstep {

// Applies a FusedConv's epilogue after its convolution. The convolution adds the bias.
std::unique_ptr<Kernel> with_epilogue(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request);

// Applies a FusedConvGradX's addition after its ConvGradX.
std::unique_ptr<Kernel> with_addition(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request);

}  // namespace lockstep
