// SPDX-License-Identifier: Apache-2.0
// The accelerator of a session's devices.
#pragma once

#include <vector>

#include "lockstep/device.h"
#include "lockstep/kernel.h"
#include "runtime/accelerator.h"

namespace lockstep {

// Returns null for CPUs. Throws for a device that this machine does not have; the error names the
// device.
Accelerator* accelerator_of(const std::vector<KernelTable>& kernels,
                            const std::vector<Device>& devices);

}  // namespace lockstep
