// SPDX-License-Identifier: Apache-2.0
// The accelerator that a session's devices are on.
#pragma once

#include <vector>

#include "runtime/accelerator.h"
#include "runtime/device.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// Null for CPUs. Throws naming a device that this machine does not have.
Accelerator* accelerator_of(const std::vector<KernelTable>& kernels,
                            const std::vector<Device>& devices);

}  // namespace lockstep
