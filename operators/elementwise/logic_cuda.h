// Of truth values, tests of floats, and arithmetic that few networks do, on a GPU.
#pragma once

#include "runtime/kernel_table.h"

namespace lockstep {

std::vector<KernelEntry> logic_cuda();

}  // namespace lockstep
