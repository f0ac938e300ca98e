// SPDX-License-Identifier: Apache-2.0
// Exponential and logarithm without calls or branches, so that the compiler vectorises loops that
// use them. The relative error is about 1e-7, and NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

// exp(-a) for a >= 0; 0 if the result would be less than the smallest normal float.
constexpr float exp_of_minus(float a) {
  constexpr float kMost = 87, kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693145752F, kLn2Low = 1.42860677e-6F;  // halves * high is exact
  const float limited = a < kMost ? a : kMost;                        // also a number for NaN
  const auto halves = static_cast<int32_t>(limited * kLog2E + 0.5F);
  const float t = static_cast<float>(halves) * kLn2High - a + static_cast<float>(halves) * kLn2Low;
  // Taylor's series on [-ln(2) / 2, ln(2) / 2]
  const float series =
      1 +
      t * (1 + t * (1.0F / 2 +
                    t * (1.0F / 6 + t * (1.0F / 24 + t * (1.0F / 120 +
                                                          t * (1.0F / 720 + t * (1.0F / 5040)))))));
  const float result = series * std::bit_cast<float>((127 - halves) << 23);
  // A mask instead of a selection: compilers would turn a selection into a branch around all of the
  // above.
  return std::bit_cast<float>(std::bit_cast<int32_t>(result) &
                              -static_cast<int32_t>(!(a >= kMost)));
}

// log(1 + e) for 0 <= e <= 1, by the series of 2 artanh(e / (2 + e)).
inline float log_of_one_plus(float e) {
  const float z = e / (2 + e), w = z * z;
  return 2 * z *
         (1 + w * (1.0F / 3 +
                   w * (1.0F / 5 +
                        w * (1.0F / 7 + w * (1.0F / 9 + w * (1.0F / 11 + w * (1.0F / 13)))))));
}

}  // namespace lockstep
