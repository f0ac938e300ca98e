// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 floats, for source files that are compiled for AVX-512 alone. Each of these has
// functions of its own, which no file for other processors can come to share.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "graph/half.h"

namespace lockstep::avx512 {
namespace {

using Vector = __m512;
using Bits [[gnu::vector_size(64)]] = uint32_t;

// (g++ 12 sees something uninitialised in conversions without a mask.)
constexpr __mmask16 kAll = 0xFFFF;

inline Vector load(const float* x) { return _mm512_loadu_ps(x); }
inline void store(float* y, Vector value) { _mm512_storeu_ps(y, value); }
inline Vector load(const BFloat16* x) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(kAll, halves))
                                  << 16);
}
// Rounded as BFloat16(float) rounds, NaN and the smallest numbers too; the processor's own
// instruction makes the latter 0.
inline Bits rounded_halves(Vector value) {
  const Bits bits = reinterpret_cast<Bits>(value), upper = bits >> 16;
  const Bits rounded = (bits + 0x7FFFU + (upper & 1U)) >> 16;
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  return reinterpret_cast<Bits>(_mm512_mask_mov_epi32(reinterpret_cast<__m512i>(rounded), is_nan,
                                                      reinterpret_cast<__m512i>(upper | 0x40U)));
}
inline void store(BFloat16* y, Vector value) {
  const auto halves = reinterpret_cast<__m512i>(rounded_halves(value));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_maskz_cvtepi32_epi16(kAll, halves));
}
inline Vector as_stored(const float*, Vector value) { return value; }
inline Vector as_stored(const BFloat16*, Vector value) {
  return reinterpret_cast<Vector>(rounded_halves(value) << 16);
}

// Asks for the memory of kPixels neighbouring vectors, which need not exist.
template <int kPixels, class T>
void fetch(const T* x) {
  constexpr int kLine = 64 / sizeof(T);
  for (int i = 0; i < 16 * kPixels; i += kLine) __builtin_prefetch(x + i);
}

inline Vector all(float x) { return _mm512_set1_ps(x); }
inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
inline Vector kept_where(__mmask16 mask, Vector value) { return _mm512_maskz_mov_ps(mask, value); }

}  // namespace
}  // namespace lockstep::avx512

namespace lockstep {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr const char* kName = "AVX-512";
  static constexpr int kLanes = 16;

  static Vector load(const float* x) { return _mm512_loadu_ps(x); }
  static Vector load(const float* x, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), x);
  }
  static void store(float* y, Vector x) { _mm512_storeu_ps(y, x); }
  static void store(float* y, Vector x, int64_t count) {
    _mm512_mask_storeu_ps(y, first(count), x);
  }
  static void stream(float* y, Vector x) { _mm512_stream_ps(y, x); }
  static void end_streams() { _mm_sfence(); }
  static Vector all(float x) { return _mm512_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
  static Vector subtract(Vector x, Vector y) { return _mm512_sub_ps(x, y); }
  static Vector multiply(Vector x, Vector y) { return _mm512_mul_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
  // The second operand if one is NaN.
  static Vector relu(Vector x) { return _mm512_maskz_max_ps(avx512::kAll, _mm512_setzero_ps(), x); }

 private:
  static __mmask16 first(int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
};

}  // namespace
}  // namespace lockstep
