// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike on a GPU. A separate file, since every pair of types is a kernel.
#pragma once

#include "operators/kit/dispatch.h"

namespace lockstep {

// The types that can be converted; every pair is supported.
using Convertible = Types<float, double, int32_t, int64_t, bool, Half, BFloat16>;

std::unique_ptr<Kernel> cast_cuda(const KernelRequest& request);

// A cast also converts layouts. 16-bit results are channels-last for readers that need this layout,
// such as convolutions; otherwise they have the operand's layout. float32 results (gradients of
// weights) are row-major.
Layouts cast_layouts(const KernelRequest& request);

}  // namespace lockstep
