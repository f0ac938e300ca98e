// Kernels of 16-bit floats made of those of float32: operands are widened, which is exact, and
// results are rounded once, to nearest. What a device with units for 16 bits is measured by.
#pragma once

#include "runtime/kernel.h"

namespace lockstep {

// The entry, which now also takes 16-bit floats where its own kernel does not.
KernelEntry widened(KernelEntry entry);

}  // namespace lockstep
