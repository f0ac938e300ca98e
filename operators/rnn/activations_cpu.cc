// SPDX-License-Identifier: Apache-2.0
#include "operators/rnn/activations_cpu.h"

#include "operators/kit/simd/widest.h"

namespace lockstep {
namespace {

// Clips x to +-limit; NaN stays NaN.
float clipped(float x, float limit) {
  const float low = x > limit ? limit : x;
  return low < -limit ? -limit : low;
}

// f is passed by value: the compiler does not vectorise a loop that could change f.
template <class Formula>
void values(RecurrentActivation f, const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = Formula::value(clipped(x[i], f.clip), f.a, f.b);
}

template <class Formula>
void values_and_slopes(RecurrentActivation f, const float* x, float* y, float* slopes,
                       int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float z = clipped(x[i], f.clip), slope = Formula::slope(z, f.a, f.b);
    y[i] = Formula::value(z, f.a, f.b);
    slopes[i] = x[i] < -f.clip || x[i] > f.clip ? 0 : slope;
  }
}

// True for the default activations. The others call scalar functions, so wider vectors do not help.
template <class Formula>
constexpr bool is_usual =
    std::is_same_v<Formula, activation::Sigmoid> || std::is_same_v<Formula, activation::Tanh>;

}  // namespace

void activate(const RecurrentActivation& f, const float* x, float* y, int64_t count) {
  with_formula(f.kind, [&]<class Formula>() {
    widest_if<is_usual<Formula>>([&] { values<Formula>(f, x, y, count); });
  });
}

void activate(const RecurrentActivation& f, const float* x, float* y, float* slopes,
              int64_t count) {
  with_formula(f.kind, [&]<class Formula>() {
    widest_if<is_usual<Formula>>([&] { values_and_slopes<Formula>(f, x, y, slopes, count); });
  });
}

}  // namespace lockstep
