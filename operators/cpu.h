// SPDX-License-Identifier: Apache-2.0
// The list of CPU kernels.
#pragma once

#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

// Kernels that may also run in place of a GPU kernel (runtime/kernel/host_kernel.h).
std::vector<KernelEntry> cpu_kernel_entries();
// Kernels that may not run in place of a GPU kernel: a sum over replicas would need all replicas in
// host memory, and waiting for a message in a queue could block a later message in the same queue.
std::vector<KernelEntry> cpu_communication_entries();

KernelTable cpu_kernels();

}  // namespace lockstep
