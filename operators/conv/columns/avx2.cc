// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "operators/conv/columns/loops_of.h"

namespace lockstep::columns {
namespace {

constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

struct Avx2 {
  using Vector = __m256;
  static constexpr const char* kName = "AVX2";
  static constexpr int kLanes = 8, kRows = 4, kVectors = 3;  // 12 of 16 registers are sums
  static constexpr int kFewAtOnce = 1;

  static Vector load(const float* x) { return _mm256_loadu_ps(x); }
  static Vector load(const float* x, int64_t count) { return _mm256_maskload_ps(x, first(count)); }
  static void store(float* y, Vector x) { _mm256_storeu_ps(y, x); }
  static void store(float* y, Vector x, int64_t count) { _mm256_maskstore_ps(y, first(count), x); }
  static Vector all(float x) { return _mm256_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm256_fmadd_ps(x, y, z); }
  static Vector halved(const Vector (&x)[2]) { return _mm256_add_ps(x[0], x[1]); }
  // The second operand if one is NaN.
  static Vector relu(Vector x) { return _mm256_max_ps(_mm256_setzero_ps(), x); }

 private:
  static __m256i first(int64_t count) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - count));
  }
};

}  // namespace

const ColumnLoops& avx2_loops() {
  static const ColumnLoopsOf<Avx2> loops;
  return loops;
}

}  // namespace lockstep::columns
