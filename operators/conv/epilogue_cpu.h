// A FusedConv's work after its convolution, which adds the bias itself.
#pragma once

#include "operators/conv/conv.h"

namespace lockstep {

std::unique_ptr<Kernel> with_epilogue(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request);

}  // namespace lockstep
