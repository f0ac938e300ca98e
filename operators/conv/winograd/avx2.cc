#include <immintrin.h>

#include "operators/conv/winograd/loops_of.h"

namespace lockstep::winograd {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr const char* kName = "AVX2";
  static constexpr int kLanes = 8, kRows = 6;  // 12 of 16 registers are sums

  static Vector load(const float* x) { return _mm256_loadu_ps(x); }
  static void store(float* y, Vector x) { _mm256_storeu_ps(y, x); }
  static Vector all(float x) { return _mm256_set1_ps(x); }
  static Vector add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
  static Vector subtract(Vector x, Vector y) { return _mm256_sub_ps(x, y); }
  static Vector multiply(Vector x, Vector y) { return _mm256_mul_ps(x, y); }
  static Vector fma(Vector x, Vector y, Vector z) { return _mm256_fmadd_ps(x, y, z); }
  // The second operand if one is NaN.
  static Vector relu(Vector x) { return _mm256_max_ps(_mm256_setzero_ps(), x); }
};

}  // namespace

const Loops& avx2_loops() {
  static const LoopsOf<Avx2> loops;
  return loops;
}

}  // namespace lockstep::winograd
