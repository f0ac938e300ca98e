// SPDX-License-Identifier: Apache-2.0
// 16-bit float kernels made of float32 kernels: operands are widened, which is exact, and results
// are rounded once, to nearest. The reference for devices with 16-bit units.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// Appends each of an entry's candidates once more, computing 16-bit floats in float32.
KernelEntry with_float32(KernelEntry entry);

}  // namespace lockstep
