// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/simd/isa.h"

#include <algorithm>
#include <atomic>

namespace lockstep {
namespace {

Isa look() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2
                                                                         : Isa::portable;
}

std::atomic<Isa> limit = Isa::avx512;

}  // namespace

Isa isa_here() {
  static const Isa found = look();
  return std::min(found, limit.load(std::memory_order_relaxed));
}

void limit_isa(Isa most) { limit = most; }

}  // namespace lockstep
