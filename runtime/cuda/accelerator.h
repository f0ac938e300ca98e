// NVIDIA GPUs as devices that work behind the host's back: streams, events, CUDA graphs.
#pragma once

#include "runtime/queue.h"

namespace lockstep {

// Lives as long as the program. On a machine without a driver it has no devices.
Accelerator& cuda_accelerator();

}  // namespace lockstep
