// Part of the room's GPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace lockstep {

std::vector<KernelEntry> select_cuda();

}  // namespace lockstep
