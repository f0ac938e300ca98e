// Kernels of 16-bit floats made of those of float32: operands are widened, which is exact, and
// results are rounded once, to nearest. What a device with units for 16 bits is measured by.
#pragma once

#include "runtime/kernel_table.h"

namespace lockstep {

// Behind an entry's own candidates comes each of them once more, in float32 for 16-bit floats.
KernelEntry with_float32(KernelEntry entry);

}  // namespace lockstep
