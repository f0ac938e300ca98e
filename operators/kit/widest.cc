// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/widest.h"

#include <algorithm>
#include <atomic>

namespace lockstep::detail {
namespace {

Vectors look() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Vectors::avx512;
  return __builtin_cpu_supports("avx2") ? Vectors::avx2 : Vectors::any;
}

std::atomic<Vectors> limit = Vectors::avx512;

}  // namespace

Vectors widest_vectors() {
  static const Vectors found = look();
  return std::min(found, limit.load(std::memory_order_relaxed));
}

void limit_vectors(Vectors most) { limit = most; }

}  // namespace lockstep::detail
