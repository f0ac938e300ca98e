// Cast and CastLike on a GPU; apart, as every pair of types is a kernel.
#pragma once

#include "operators/kit/dispatch.h"

namespace lockstep {

// From each of these to each.
using Convertible = Types<float, double, int32_t, int64_t, bool, Half, BFloat16>;

std::unique_ptr<Kernel> cast_cuda(const KernelRequest& request);

// A cast goes from layout to layout as well. What becomes 16 bits is for units that want channels
// together; what becomes float32 (gradients of weights) is for all others.
Layouts cast_layouts(const KernelRequest& request);

}  // namespace lockstep
