// The list of CPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

// Those that may also run in a GPU's place (runtime/host_kernel.h).
std::vector<KernelEntry> cpu_kernel_entries();
// Those that may not: sums over replicas would meet in the host's memory, and a message that is
// waited for in a queue could wait for one behind it.
std::vector<KernelEntry> cpu_communication_entries();

KernelTable cpu_kernels();

}  // namespace lockstep
