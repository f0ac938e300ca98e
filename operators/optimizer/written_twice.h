// The second copy that an update writes of a parameter's elements, on CPUs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "graph/half.h"
#include "runtime/tensor.h"

namespace lockstep {

// Copies are written in pieces of so many elements, which whole tiles fill.
constexpr int64_t kPieceOfCopy = 256;

// Filters in tiles, as turned tiles. `first`: of the elements as the filters lie.
inline void write_turned(const float* from, const Tensor& copy, int64_t first, int64_t count) {
  constexpr int64_t kSide = 16, kTile = kSide * kSide;
  static_assert(kPieceOfCopy % kTile == 0);
  const Dims& dims = copy.desc.dims;
  const int64_t outputs = dims[0] / kSide, inputs = dims[1] / kSide, plane = dims[2] * dims[3];
  for (int64_t done = 0; done < count; done += kTile) {
    const int64_t tile = (first + done) / kTile, place = tile % plane, row = tile / plane;
    const int64_t turned = (row % inputs * outputs + row / inputs) * plane + place;
    const float* x = from + done;
    float* y = copy.as<float>() + turned * kTile;
    for (int64_t i = 0; i < kSide; ++i)
      for (int64_t o = 0; o < kSide; ++o) y[o * kSide + i] = x[i * kSide + o];
  }
}

// In float32 for a kernel that is widened (wide_kernel.h): it rounds the copy itself. Called for
// each piece, so without dispatch(), which makes the text of a refusal.
inline void write_copy(const float* from, const Tensor& copy, int64_t first, int64_t count) {
  if (in_turned_tiles(copy.desc.channel_block)) return write_turned(from, copy, first, count);
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
