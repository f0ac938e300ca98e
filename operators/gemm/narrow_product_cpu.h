// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 matrices by oneDNN, which accumulates in float32 and rounds once.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

Candidate narrow_gemm();
Candidate narrow_matmul();

}  // namespace lockstep
