// The list of CPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace lockstep {

std::vector<KernelEntry> cpu_kernel_entries();

}  // namespace lockstep
