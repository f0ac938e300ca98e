// SPDX-License-Identifier: Apache-2.0
// The arithmetic of quantisation, for every device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep {

// x / scale, rounded to the nearest even integer, plus the zero point, limited to the range of T.
// NaN becomes the smallest value.
template <class T>
constexpr T quantized(float x, float scale, T zero) {
  const float place = std::nearbyint(x / scale) + static_cast<float>(zero);
  const auto low = static_cast<float>(std::numeric_limits<T>::lowest());
  const auto high = static_cast<float>(std::numeric_limits<T>::max());
  const float raised = place > low ? place : low;
  return static_cast<T>(raised < high ? raised : high);
}

template <class T>
constexpr float dequantized(T x, float scale, T zero) {
  return static_cast<float>(static_cast<int64_t>(x) - static_cast<int64_t>(zero)) * scale;
}

}  // namespace lockstep
