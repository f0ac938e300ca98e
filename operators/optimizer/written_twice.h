// The second copy that an update writes of a parameter's elements, on CPUs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "graph/half.h"
#include "runtime/tensor.h"

namespace lockstep {

// Copies are written in pieces of so many elements, which whole tiles fill.
constexpr int64_t kPieceOfCopy = 256;

template <int64_t kSide>
void write_turned_tile(const float* x, float* y) {
  for (int64_t i = 0; i < kSide; ++i)
    for (int64_t o = 0; o < kSide; ++o) y[o * kSide + i] = x[i * kSide + o];
}

// Filters in tiles, as turned ones. `first`: of the elements as the filters lie.
template <int64_t kSide>
void write_turned(const float* from, const Tensor& copy, int64_t first, int64_t count) {
  constexpr int64_t kTile = kSide * kSide;
  static_assert(kPieceOfCopy % kTile == 0);
  const Dims& dims = copy.desc.dims;
  const int64_t outputs = dims[0] / kSide, inputs = dims[1] / kSide, plane = dims[2] * dims[3];
  const bool stays = in_tiles_turned_each(copy.desc.channel_block);
  for (int64_t done = 0; done < count; done += kTile) {
    const int64_t tile = (first + done) / kTile, place = tile % plane, row = tile / plane;
    const int64_t turned = (row % inputs * outputs + row / inputs) * plane + place;
    write_turned_tile<kSide>(from + done, copy.as<float>() + (stays ? tile : turned) * kTile);
  }
}

// In float32 for a kernel that is widened (wide_kernel.h): it rounds the copy itself. Called for
// each piece, so without dispatch(), which makes the text of a refusal.
inline void write_copy(const float* from, const Tensor& copy, int64_t first, int64_t count) {
  if (in_turned_tiles(copy.desc.channel_block))
    return side_of_tiles(copy.desc.channel_block) == 16 ? write_turned<16>(from, copy, first, count)
                                                        : write_turned<8>(from, copy, first, count);
  const auto write_as = [&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    for (int64_t i = 0; i < count; ++i) to[first + i] = To(from[i]);
  };
  switch (copy.desc.dtype) {
    case DType::float16:
      return write_as(copy.as<Half>());
    case DType::bfloat16:
      return write_as(copy.as<BFloat16>());
    default:
      return write_as(copy.as<float>());
  }
}

}  // namespace lockstep
