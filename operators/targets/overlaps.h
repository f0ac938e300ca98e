// SPDX-License-Identifier: Apache-2.0
// Half-open boxes, their areas and overlaps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace lockstep {

struct TargetBox {
  float x1, y1, x2, y2;
};

inline TargetBox box_at(const float* boxes, int64_t row) {
  const float* box = boxes + 4 * row;
  return {box[0], box[1], box[2], box[3]};
}

inline float area_of(const TargetBox& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); }

// True if the area is positive and finite. Then the sides are, too, and overlaps are never NaN.
inline bool has_area(const TargetBox& box) {
  const float area = area_of(box);
  return box.x2 > box.x1 && box.y2 > box.y1 && area > 0 && std::isfinite(area);
}

inline float shared_area(const TargetBox& a, const TargetBox& b) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return width > 0 && height > 0 ? width * height : 0.0F;
}

// Intersection over union of two boxes with an area.
inline float overlap_of(const TargetBox& a, const TargetBox& b) {
  const float shared = shared_area(a, b);
  return shared / (area_of(a) + area_of(b) - shared);
}

// The deltas that transform one box into another: shifts of the centre relative to the box's size,
// and logarithms of the growth, each times its weight. Computed in double, since centres nearly
// cancel.
inline std::array<float, 4> deltas_between(const TargetBox& from, const TargetBox& to,
                                           const std::array<float, 4>& weights) {
  const auto along = [](double from1, double from2, double to1, double to2) {
    const double size = from2 - from1, wanted = to2 - to1;
    const double shift = (to1 + 0.5 * wanted - from1 - 0.5 * size) / size;
    return std::array{shift, std::log(wanted / size)};
  };
  const auto x = along(from.x1, from.x2, to.x1, to.x2);
  const auto y = along(from.y1, from.y2, to.y1, to.y2);
  const std::array deltas{x[0], y[0], x[1], y[1]};
  std::array<float, 4> weighted;
  for (std::size_t i = 0; i < 4; ++i) weighted[i] = static_cast<float>(deltas[i] * weights[i]);
  return weighted;
}

}  // namespace lockstep
