// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/simd/avx2.h"
#include "operators/conv/winograd/loops_of.h"

namespace lockstep::winograd {
namespace {

struct Eight : Avx2 {
  static constexpr int kRows = 6;  // 12 of 16 registers are sums

  static Vector every_fourth_row(const float* from, int64_t row) {
    const Vector first = _mm256_castps128_ps256(_mm_loadu_ps(from));
    return _mm256_insertf128_ps(first, _mm_loadu_ps(from + 4 * row), 1);
  }
  static void store_every_fourth_row(float* to, int64_t row, Vector x) {
    _mm_storeu_ps(to, _mm256_castps256_ps128(x));
    _mm_storeu_ps(to + 4 * row, _mm256_extractf128_ps(x, 1));
  }
  // Transposes four by four floats in each part of 16 bytes.
  static void transpose(Vector a, Vector b, Vector c, Vector d, Vector* to) {
    const Vector low_ab = _mm256_unpacklo_ps(a, b), low_cd = _mm256_unpacklo_ps(c, d);
    const Vector high_ab = _mm256_unpackhi_ps(a, b), high_cd = _mm256_unpackhi_ps(c, d);
    to[0] = _mm256_shuffle_ps(low_ab, low_cd, 0x44);
    to[1] = _mm256_shuffle_ps(low_ab, low_cd, 0xEE);
    to[2] = _mm256_shuffle_ps(high_ab, high_cd, 0x44);
    to[3] = _mm256_shuffle_ps(high_ab, high_cd, 0xEE);
  }
};

}  // namespace

const Loops& avx2_loops() {
  static const LoopsOf<Eight> loops;
  return loops;
}

}  // namespace lockstep::winograd
