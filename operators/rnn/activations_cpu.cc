#include "operators/rnn/activations_cpu.h"

#include <algorithm>

namespace lockstep {
namespace {

// NaN stays NaN.
float clipped(float x, float limit) { return std::max(std::min(x, limit), -limit); }

}  // namespace

void activate(const RecurrentActivation& f, const float* x, float* y, int64_t count) {
  with_formula(f.kind, [=, a = f.a, b = f.b, clip = f.clip]<class Formula>() {
    for (int64_t i = 0; i < count; ++i) y[i] = Formula::value(clipped(x[i], clip), a, b);
  });
}

void slopes(const RecurrentActivation& f, const float* x, float* y, int64_t count) {
  with_formula(f.kind, [=, a = f.a, b = f.b, clip = f.clip]<class Formula>() {
    for (int64_t i = 0; i < count; ++i) {
      const float slope = Formula::slope(clipped(x[i], clip), a, b);
      y[i] = x[i] < -clip || x[i] > clip ? 0 : slope;
    }
  });
}

}  // namespace lockstep
