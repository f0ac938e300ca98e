#include "operators/kit/widest.h"

namespace lockstep::detail {
namespace {

Vectors look() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Vectors::avx512;
  return __builtin_cpu_supports("avx2") ? Vectors::avx2 : Vectors::any;
}

}  // namespace

Vectors widest_vectors() {
  static const Vectors found = look();
  return found;
}

}  // namespace lockstep::detail
