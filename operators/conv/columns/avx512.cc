// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "operators/conv/columns/loops_of.h"

namespace lockstep::columns {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr const char* kName = "AVX-512";
  static constexpr int kLanes = 16, kRows = 6, kVectors = 4;  // 24 of 32 registers are sums
  static constexpr int kFewAtOnce = 4;

  static Vector load(const float* x) { return _mm512_loadu_ps(x); }
  static Vector load(const float* x, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), x);
  }
  static void store(float* y, Vector x) { _mm512_storeu_ps(y, x); }
  static void store(float* y, Vector x, int64_t count) {
    _mm512_mask_storeu_ps(y, first(count), x);
  }
  static Vector all(float x) { return _mm512_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
  static auto halved(const Vector (&x)[1]) {
    return __builtin_shufflevector(x[0], x[0], 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(x[0], x[0], 8, 9, 10, 11, 12, 13, 14, 15);
  }
  // The second operand if one is NaN. (g++ 12 sees something uninitialised in the plain maximum.)
  static Vector relu(Vector x) { return _mm512_maskz_max_ps(0xFFFF, _mm512_setzero_ps(), x); }

 private:
  static __mmask16 first(int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
};

}  // namespace

const ColumnLoops& avx512_loops() {
  static const ColumnLoopsOf<Avx512> loops;
  return loops;
}

}  // namespace lockstep::columns
