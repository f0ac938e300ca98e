// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/simd/avx512.h"
#include "operators/conv/winograd/loops_of.h"

namespace lockstep::winograd {
namespace {

struct Sixteen : Avx512 {
  static constexpr int kRows = 12;  // 24 of 32 registers are sums

  static Vector every_fourth_row(const float* from, int64_t row) {
    Vector all = _mm512_castps128_ps512(_mm_loadu_ps(from));
    all = _mm512_maskz_insertf32x4(kAll, all, _mm_loadu_ps(from + 4 * row), 1);
    all = _mm512_maskz_insertf32x4(kAll, all, _mm_loadu_ps(from + 8 * row), 2);
    return _mm512_maskz_insertf32x4(kAll, all, _mm_loadu_ps(from + 12 * row), 3);
  }
  static void store_every_fourth_row(float* to, int64_t row, Vector x) {
    _mm_storeu_ps(to, quarter<0>(x));
    _mm_storeu_ps(to + 4 * row, quarter<1>(x));
    _mm_storeu_ps(to + 8 * row, quarter<2>(x));
    _mm_storeu_ps(to + 12 * row, quarter<3>(x));
  }
  template <int kNumber>
  static __m128 quarter(Vector x) {
    return _mm512_maskz_extractf32x4_ps(0xF, x, kNumber);
  }
  // Transposes four by four floats in each part of 16 bytes.
  static void transpose(Vector a, Vector b, Vector c, Vector d, Vector* to) {
    const Vector low_ab = _mm512_maskz_unpacklo_ps(kAll, a, b),
                 low_cd = _mm512_maskz_unpacklo_ps(kAll, c, d);
    const Vector high_ab = _mm512_maskz_unpackhi_ps(kAll, a, b),
                 high_cd = _mm512_maskz_unpackhi_ps(kAll, c, d);
    to[0] = _mm512_maskz_shuffle_ps(kAll, low_ab, low_cd, 0x44);
    to[1] = _mm512_maskz_shuffle_ps(kAll, low_ab, low_cd, 0xEE);
    to[2] = _mm512_maskz_shuffle_ps(kAll, high_ab, high_cd, 0x44);
    to[3] = _mm512_maskz_shuffle_ps(kAll, high_ab, high_cd, 0xEE);
  }
};

}  // namespace

const Loops& avx512_loops() {
  static const LoopsOf<Sixteen> loops;
  return loops;
}

}  // namespace lockstep::winograd
