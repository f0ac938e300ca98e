// SPDX-License-Identifier: Apache-2.0
// Several neighbouring floats that CPU loops compute with at once. Operations use no fused
// multiply-add and have a fixed order, so every processor and every number of threads computes the
// same bits. Loads widen bfloat16, which is exact; stores round.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lockstep/types.h"

namespace lockstep {

using Four [[gnu::vector_size(16)]] = float;
using FourMasks [[gnu::vector_size(16)]] = int32_t;
using FourBits [[gnu::vector_size(16)]] = uint32_t;
using FourHalves [[gnu::vector_size(8)]] = uint16_t;

inline Four kept_where(FourMasks mask, Four x) {
  return std::bit_cast<Four>(mask & std::bit_cast<FourMasks>(x));
}
inline Four chosen(FourMasks mask, Four yes, Four no) {
  return std::bit_cast<Four>((mask & std::bit_cast<FourMasks>(yes)) |
                             (~mask & std::bit_cast<FourMasks>(no)));
}

inline Four four_of(const BFloat16* x) {
  FourHalves bits;
  std::memcpy(&bits, x, sizeof bits);
  return std::bit_cast<Four>(__builtin_convertvector(bits, FourBits) << 16);
}
// The upper halves, rounded like BFloat16(float), which keeps NaN.
inline FourBits rounded_halves(Four value) {
  const auto bits = std::bit_cast<FourBits>(value);
  const FourBits rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const auto is_nan = std::bit_cast<FourBits>(value != value);
  return (rounded & ~is_nan) | (((bits >> 16) | 0x40U) & is_nan);
}
inline void store_four(Four value, BFloat16* y) {
  const FourHalves halves = __builtin_convertvector(rounded_halves(value), FourHalves);
  std::memcpy(static_cast<void*>(y), &halves, sizeof halves);
}
// The value that a T in memory has after a store.
template <class T>
Four as_stored(Four value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return std::bit_cast<Four>(rounded_halves(value) << 16);
  else
    return value;
}

template <int kLanes>
struct Pack {
  static constexpr int kParts = kLanes / 4;
  Four part[kParts];

  static Pack load(const float* x) {
    Pack pack;
    std::memcpy(pack.part, x, sizeof pack.part);
    return pack;
  }
  // Loads the first `count` lanes; the other lanes are 0.
  static Pack load(const float* x, int count) {
    Pack pack{};
    std::memcpy(pack.part, x, sizeof(float) * count);
    return pack;
  }
  static Pack load(const BFloat16* x) {
    Pack pack;
    for (int i = 0; i < kParts; ++i) pack.part[i] = four_of(x + 4 * i);
    return pack;
  }
  static Pack load(const BFloat16* x, int count) {
    std::array<BFloat16, kLanes> lanes{};
    std::copy(x, x + count, lanes.begin());
    return load(lanes.data());
  }
  const float* lanes() const { return reinterpret_cast<const float*>(part); }
  void store(float* y) const { std::memcpy(y, part, sizeof part); }
  void store(float* y, int count) const { std::memcpy(y, part, sizeof(float) * count); }
  void store(BFloat16* y) const {
    for (int i = 0; i < kParts; ++i) store_four(part[i], y + 4 * i);
  }
  void store(BFloat16* y, int count) const {
    std::array<BFloat16, kLanes> lanes;
    store(lanes.data());
    std::copy(lanes.begin(), lanes.begin() + count, y);
  }
};

// Sets the unused lanes of a narrow pack to 0.
template <int kLanes>
Pack<kLanes> only_used(const Pack<kLanes>& pack) {
  return pack;
}
template <int kLanes>
Pack<kLanes> only_used(const Pack<kLanes>& pack, int width) {
  std::array<float, kLanes> lanes;
  pack.store(lanes.data());
  return Pack<kLanes>::load(lanes.data(), width);
}

// Applies f to corresponding parts.
template <int kLanes, class F, class... Others>
Pack<kLanes> each_part(const F& f, const Pack<kLanes>& first, const Others&... others) {
  Pack<kLanes> made;
  for (int i = 0; i < Pack<kLanes>::kParts; ++i) made.part[i] = f(first.part[i], others.part[i]...);
  return made;
}

}  // namespace lockstep
