// SPDX-License-Identifier: Apache-2.0
// The list of CPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep {

// Kernels that may also run in place of a GPU's (runtime/kernel/host_kernel.h).
std::vector<KernelEntry> cpu_kernel_entries();
// Kernels that may not: sums over replicas would meet in host memory, and a message awaited in a
// queue could wait for a later one in the same queue.
std::vector<KernelEntry> cpu_communication_entries();

KernelTable cpu_kernels();

}  // namespace lockstep
