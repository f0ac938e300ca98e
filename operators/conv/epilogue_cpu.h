// SPDX-License-Identifier: Apache-2.0
// What fused convolutions do besides convolving.
#pragma once

#include "operators/conv/epilogue.h"

namespace lockstep {

// A FusedConv's work after its convolution, which adds the bias itself.
std::unique_ptr<Kernel> with_epilogue(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request);

// A FusedConvGradX's addition after its ConvGradX.
std::unique_ptr<Kernel> with_addition(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request);

}  // namespace lockstep
