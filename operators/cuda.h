// The list of GPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace lockstep {

// One table, or none where this build has no GPU kernels (no_cuda.cc).
std::vector<KernelTable> cuda_kernels();

}  // namespace lockstep
