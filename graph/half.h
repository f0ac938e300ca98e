// SPDX-License-Identifier: Apache-2.0
// 16-bit floating point numbers for storage; arithmetic is in float.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

// IEEE binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value);
  operator float() const;  // NOLINT: widening is exact
};

// The upper 16 bits of a float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to nearest, ties to even.
  explicit BFloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool is_nan = (wide & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(is_nan ? (wide >> 16) | 0x40U
                                        : (wide + 0x7FFFU + ((wide >> 16) & 1U)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }  // NOLINT
};

}  // namespace lockstep
