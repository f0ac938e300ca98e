// SPDX-License-Identifier: Apache-2.0
#include "lockstep/types.h"

#include <cmath>

namespace lockstep {

// Rebiases the float's exponent to a half's and rounds to nearest even at the half's last bit,
// subnormal or not.
Half::Half(float value) {
  const auto wide = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((wide >> 16) & 0x8000U);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    bits = static_cast<uint16_t>(sign | 0x7E00U);
  } else if (magnitude >= 65520.0F) {  // rounds to beyond the largest half
    bits = static_cast<uint16_t>(sign | 0x7C00U);
  } else if (magnitude < 0x1p-14F) {  // subnormal: steps of 2^-24
    bits = static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24F)));
  } else {
    const auto exact = std::bit_cast<uint32_t>(magnitude);
    const uint32_t rounded = exact + 0xFFFU + ((exact >> 13) & 1U);
    bits = static_cast<uint16_t>(sign | static_cast<uint16_t>((rounded >> 13) - (112U << 10)));
  }
}

Half::operator float() const {
  const uint32_t exponent = (bits >> 10) & 0x1FU, mantissa = bits & 0x3FFU;
  const float sign = bits & 0x8000U ? -1.0F : 1.0F;
  if (exponent == 0) return sign * static_cast<float>(mantissa) * 0x1p-24F;
  if (exponent == 31) return mantissa ? std::nanf("") : sign * INFINITY;
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), static_cast<int>(exponent) - 25);
}

}  // namespace lockstep
