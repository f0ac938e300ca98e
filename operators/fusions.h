// Fusion passes, for devices that profit from them (KernelTable).
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

Rewrites gpu_fusions();
Rewrites cpu_fusions();

}  // namespace lockstep
