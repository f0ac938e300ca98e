// SPDX-License-Identifier: Apache-2.0
#include "data/mixed_pictures.h"

#include <cmath>

#include "data/streams.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

// The logarithm of a draw from Gamma(alpha, 1), by Marsaglia and Tsang 2000. For a small alpha the
// draw itself would often be 0.
double log_gamma_draw(double alpha, PhiloxSequence& random) {
  if (alpha < 1) {
    const double more = log_gamma_draw(alpha + 1, random);
    return more + std::log(random.uniform()) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), root = 1 + c * x, v = root * root * root;
    if (root > 0 && std::log(random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d) + std::log(v);
  }
}

}  // namespace

double share_of_step(double alpha, uint64_t seed, int64_t step) {
  PhiloxSequence random(seed, streams::kMixedShares | static_cast<uint64_t>(step));
  const double first = log_gamma_draw(alpha, random), second = log_gamma_draw(alpha, random);
  return 1 / (1 + std::exp(second - first));
}

void mix_images(const float* other, double share, int64_t count, float* image) {
  const float own = static_cast<float>(share), rest = static_cast<float>(1 - share);
  for (int64_t i = 0; i < count; ++i) image[i] = own * image[i] + rest * other[i];
}

void mix_images(const uint8_t* other, double share, int64_t count, uint8_t* image) {
  const float own = static_cast<float>(share), rest = static_cast<float>(1 - share);
  for (int64_t i = 0; i < count; ++i)
    image[i] = static_cast<uint8_t>(own * static_cast<float>(image[i]) +
                                    rest * static_cast<float>(other[i]) + 0.5F);
}

}  // namespace lockstep
