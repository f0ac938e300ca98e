// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs as asynchronous devices: streams, events, CUDA graphs.
#pragma once

#include <cstdint>

#include "runtime/accelerator.h"

namespace lockstep {

// Returns the accelerator, which lives as long as the program. Without a driver it has no devices.
Accelerator& cuda_accelerator();

// Throws if both devices exist but one cannot access the memory of the other.
void require_reach(Device from, Device to);
// The number of device and host allocations since the program began.
int64_t cuda_allocations();

}  // namespace lockstep
