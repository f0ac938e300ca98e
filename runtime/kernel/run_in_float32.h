// SPDX-License-Identifier: Apache-2.0
// 16-bit float kernels made of float32 kernels. Operands are widened, which is exact; results are
// rounded once, to nearest. The reference for devices with 16-bit units.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// Appends a copy of each candidate that computes 16-bit floats in float32.
KernelEntry with_float32(KernelEntry entry);

}  // namespace lockstep
