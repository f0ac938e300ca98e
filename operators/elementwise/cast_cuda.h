// Cast and CastLike on a GPU; apart, as every pair of types is a kernel.
#pragma once

#include "runtime/kernel.h"

namespace lockstep {

std::unique_ptr<Kernel> cast_cuda(const KernelRequest& request);

}  // namespace lockstep
