// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/simd/avx2.h"
#include "operators/conv/im2col/loops_of.h"

namespace lockstep::im2col {
namespace {

struct Eight : Avx2 {
  static constexpr int kRows = 4, kVectors = 3;  // 12 of 16 registers are sums
  static constexpr int kFewAtOnce = 1;

  static Vector halved(const Vector (&x)[2]) { return add(x[0], x[1]); }
};

}  // namespace

const Im2colLoops& avx2_loops() {
  static const ColumnLoopsOf<Eight> loops;
  return loops;
}

}  // namespace lockstep::im2col
