// Fusion passes, for devices that profit from them (KernelTable).
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

std::vector<Rewrite> gpu_fusions();
std::vector<Rewrite> cpu_fusions();

}  // namespace lockstep
