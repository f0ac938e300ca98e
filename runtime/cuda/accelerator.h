// NVIDIA GPUs as devices that work behind the host's back: streams, events, CUDA graphs.
#pragma once

#include <cstdint>

#include "runtime/accelerator.h"

namespace lockstep {

// Lives as long as the program. On a machine without a driver it has no devices.
Accelerator& cuda_accelerator();

// Throws where both are here but one cannot reach the memory of the other.
void require_reach(Device from, Device to);
// How often it took memory, of a device or of the host, since the program began.
int64_t cuda_allocations();

}  // namespace lockstep
