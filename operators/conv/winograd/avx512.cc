#include <immintrin.h>

#include "operators/conv/winograd/loops_of.h"

namespace lockstep::winograd {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr const char* kName = "AVX-512";
  static constexpr int kLanes = 16, kRows = 12;  // 24 of 32 registers are sums

  static Vector load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* y, Vector x) { _mm512_storeu_ps(y, x); }
  static Vector all(float x) { return _mm512_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
  static Vector subtract(Vector x, Vector y) { return _mm512_sub_ps(x, y); }
  static Vector multiply(Vector x, Vector y) { return _mm512_mul_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
  // The second operand if one is NaN. (g++ 12 sees something uninitialised in the plain maximum.)
  static Vector relu(Vector x) { return _mm512_maskz_max_ps(0xFFFF, _mm512_setzero_ps(), x); }
};

}  // namespace

const Loops& avx512_loops() {
  static const LoopsOf<Avx512> loops;
  return loops;
}

}  // namespace lockstep::winograd
