// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 floats, for source files that are compiled for AVX-512 only. The anonymous
// namespace gives each such file private functions. A file for other processors can never link
// against them.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "lockstep/types.h"

namespace lockstep {
namespace {

struct Avx512 {
  using Vector = __m512;
  using Bits [[gnu::vector_size(64)]] = uint32_t;
  using Mask = __mmask16;
  static constexpr const char* kName = "AVX-512";
  static constexpr int kLanes = 16;
  // g++ 12 warns of an uninitialised value in conversions without a mask.
  static constexpr Mask kAll = 0xFFFF;

  static Vector load(const float* x) { return _mm512_loadu_ps(x); }
  static Vector load(const float* x, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), x);
  }
  static Vector load(const BFloat16* x) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    return reinterpret_cast<Vector>(
        reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(kAll, halves)) << 16);
  }
  static void store(float* y, Vector x) { _mm512_storeu_ps(y, x); }
  static void store(float* y, Vector x, int64_t count) {
    _mm512_mask_storeu_ps(y, first(count), x);
  }
  static void store(BFloat16* y, Vector x) {
    const auto halves = reinterpret_cast<__m512i>(rounded_halves(x));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_maskz_cvtepi32_epi16(kAll, halves));
  }
  static void stream(float* y, Vector x) { _mm512_stream_ps(y, x); }
  static void end_streams() { _mm_sfence(); }
  // The values that a load returns after a store.
  static Vector as_stored(const float*, Vector x) { return x; }
  static Vector as_stored(const BFloat16*, Vector x) {
    return reinterpret_cast<Vector>(rounded_halves(x) << 16);
  }
  // Prefetches kPixels neighbouring vectors, which need not exist.
  template <int kPixels, class T>
  static void fetch(const T* x) {
    constexpr int kLine = 64 / sizeof(T);
    for (int i = 0; i < kLanes * kPixels; i += kLine) __builtin_prefetch(x + i);
  }

  static Vector all(float x) { return _mm512_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
  static Vector subtract(Vector x, Vector y) { return _mm512_sub_ps(x, y); }
  static Vector multiply(Vector x, Vector y) { return _mm512_mul_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
  static Vector kept_where(Mask mask, Vector x) { return _mm512_maskz_mov_ps(mask, x); }
  // Returns the second operand if either is NaN.
  static Vector relu(Vector x) { return _mm512_maskz_max_ps(kAll, _mm512_setzero_ps(), x); }

 private:
  static Mask first(int64_t count) { return static_cast<Mask>((1U << count) - 1U); }
  // Rounds like BFloat16(float), including NaN and subnormal numbers. The processor's instruction
  // would turn subnormal numbers into 0.
  static Bits rounded_halves(Vector x) {
    const Bits bits = reinterpret_cast<Bits>(x), upper = bits >> 16;
    const Bits rounded = (bits + 0x7FFFU + (upper & 1U)) >> 16;
    const Mask is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return reinterpret_cast<Bits>(_mm512_mask_mov_epi32(reinterpret_cast<__m512i>(rounded), is_nan,
                                                        reinterpret_cast<__m512i>(upper | 0x40U)));
  }
};

}  // namespace
}  // namespace lockstep
