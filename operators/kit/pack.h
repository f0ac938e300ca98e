// Several neighbouring floats that loops on the CPU compute with at once. Without fused
// multiply-add and in a fixed order, so every processor and every number of threads gives the same
// bits.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace lockstep {

using Four [[gnu::vector_size(16)]] = float;
using FourMasks [[gnu::vector_size(16)]] = int32_t;

inline Four kept_where(FourMasks mask, Four x) {
  return std::bit_cast<Four>(mask & std::bit_cast<FourMasks>(x));
}
inline Four chosen(FourMasks mask, Four yes, Four no) {
  return std::bit_cast<Four>((mask & std::bit_cast<FourMasks>(yes)) |
                             (~mask & std::bit_cast<FourMasks>(no)));
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
  // The first `count` lanes; the others are 0.
  static Pack load(const float* x, int count) {
    Pack pack{};
    std::memcpy(pack.part, x, sizeof(float) * static_cast<std::size_t>(count));
    return pack;
  }
  void store(float* y) const { std::memcpy(y, part, sizeof part); }
  void store(float* y, int count) const {
    std::memcpy(y, part, sizeof(float) * static_cast<std::size_t>(count));
  }
};

// A narrow pack's unused lanes become 0.
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

// f of corresponding parts.
template <int kLanes, class F, class... Others>
Pack<kLanes> each_part(const F& f, const Pack<kLanes>& first, const Others&... others) {
  Pack<kLanes> made;
  for (int i = 0; i < Pack<kLanes>::kParts; ++i) made.part[i] = f(first.part[i], others.part[i]...);
  return made;
}

}  // namespace lockstep
