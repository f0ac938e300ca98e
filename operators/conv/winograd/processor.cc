// SPDX-License-Identifier: Apache-2.0
// Compiled for any processor, unlike the loops.
#include "operators/conv/winograd/loops.h"

namespace lockstep::winograd {

const Loops* loops_here() {
  if (__builtin_cpu_supports("avx512f")) return &avx512_loops();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2_loops();
  return nullptr;
}

}  // namespace lockstep::winograd
