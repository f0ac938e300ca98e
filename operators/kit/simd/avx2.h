// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 floats, for source files that are compiled for AVX2 only. The anonymous namespace
// gives each such file private functions. A file for other processors can never link against them.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lockstep {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr const char* kName = "AVX2";
  static constexpr int kLanes = 8;

  static Vector load(const float* x) { return _mm256_loadu_ps(x); }
  static Vector load(const float* x, int64_t count) { return _mm256_maskload_ps(x, first(count)); }
  static void store(float* y, Vector x) { _mm256_storeu_ps(y, x); }
  static void store(float* y, Vector x, int64_t count) { _mm256_maskstore_ps(y, first(count), x); }
  static void stream(float* y, Vector x) { _mm256_stream_ps(y, x); }
  static void end_streams() { _mm_sfence(); }
  static Vector all(float x) { return _mm256_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
  static Vector subtract(Vector x, Vector y) { return _mm256_sub_ps(x, y); }
  static Vector multiply(Vector x, Vector y) { return _mm256_mul_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm256_fmadd_ps(x, y, z); }
  // Returns the second operand if either is NaN.
  static Vector relu(Vector x) { return _mm256_max_ps(_mm256_setzero_ps(), x); }

 private:
  static constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  static __m256i first(int64_t count) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - count));
  }
};

}  // namespace
}  // namespace lockstep
