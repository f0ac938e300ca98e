// SPDX-License-Identifier: Apache-2.0
// The points at which RoiAlign samples a feature map, along one axis: `points` points in each of a
// RoI's bins. Floating-point operations have the order of ONNX Runtime and torchvision. A sample is
// interpolated between two pixels; a sample more than a pixel outside the map is zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "operators/roi/roi.h"

namespace lockstep {

template <class T>
struct RoiAxis {
  T start = 0, bin = 0;  // on the feature map
  int64_t points = 0;    // of a bin

  RoiAxis(T low, T high, T scale, int64_t bins, const RoiAlignAttrs& attrs) {
    const T offset = attrs.half_pixel ? T(0.5) : T(0);
    start = low * scale - offset;
    T length = high * scale - offset - start;
    if (!attrs.half_pixel) length = std::max(length, T(1));
    bin = length / static_cast<T>(bins);
    if (attrs.sampling_ratio > 0)
      points = attrs.sampling_ratio;
    else if (bin > 0)  // false for NaN, too
      points = static_cast<int64_t>(std::ceil(std::min(bin, T(1) * (int64_t{1} << 40))));
  }

  T at(int64_t of_bin, int64_t point) const {
    return start + static_cast<T>(of_bin) * bin +
           (static_cast<T>(point) + T(0.5)) * bin / static_cast<T>(points);
  }
};

struct PointRange {
  int64_t begin, end;
};

// All points of a bin that can be on a map of `size` pixels, and few others. The RoI of an
// untrained network may be a million pixels wide.
template <class T>
PointRange points_on_map(const RoiAxis<T>& axis, int64_t of_bin, int64_t size) {
  constexpr int64_t kFew = 64;
  if (axis.points <= kFew || !(axis.bin > 0)) return {0, axis.points};
  if (!std::isfinite(axis.bin) || !std::isfinite(axis.start)) return {0, 0};
  const double pitch = static_cast<double>(axis.bin) / static_cast<double>(axis.points);
  const double begin = static_cast<double>(axis.start) + static_cast<double>(of_bin) * axis.bin;
  const auto point = [&](double place) {
    return static_cast<int64_t>(
        std::clamp((place - begin) / pitch, 0.0, static_cast<double>(axis.points)));
  };
  return {std::max<int64_t>(0, point(-1) - 2),
          std::min(axis.points, point(static_cast<double>(size)) + 2)};
}

// A sample interpolated between two pixels of a line.
template <class T>
struct LinearTap {
  bool inside = false;
  int64_t low = 0, high = 0;
  T low_weight = 0, high_weight = 0;

  LinearTap(T position, int64_t size) {
    inside = size > 0 && position >= T(-1) && position <= static_cast<T>(size);  // NaN is outside
    if (!inside) return;
    position = std::max(position, T(0));
    low = std::min(static_cast<int64_t>(position), size - 1);
    high = std::min(low + 1, size - 1);
    high_weight = high > low ? position - static_cast<T>(low) : T(0);
    low_weight = 1 - high_weight;
  }
};

}  // namespace lockstep
