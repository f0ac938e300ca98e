// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/simd/avx512.h"
#include "operators/conv/im2col/loops_of.h"

namespace lockstep::im2col {
namespace {

struct Sixteen : Avx512 {
  static constexpr int kRows = 6, kVectors = 4;  // 24 of 32 registers are sums
  static constexpr int kFewAtOnce = 4;

  static auto halved(const Vector (&x)[1]) {
    return __builtin_shufflevector(x[0], x[0], 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(x[0], x[0], 8, 9, 10, 11, 12, 13, 14, 15);
  }
};

}  // namespace

const Im2colLoops& avx512_loops() {
  static const ColumnLoopsOf<Sixteen> loops;
  return loops;
}

}  // namespace lockstep::im2col
