// SPDX-License-Identifier: Apache-2.0
// Converts half-open boxes between corners and COCO's form (x, y, width, height).
#pragma once

#include <array>

namespace lockstep {

using Corners = std::array<float, 4>;   // left, top, right, bottom
using CocoBox = std::array<double, 4>;  // left, top, width, height

inline CocoBox coco_box_of(const Corners& box) {
  const std::array<double, 4> at{box[0], box[1], box[2], box[3]};
  return {at[0], at[1], at[2] - at[0], at[3] - at[1]};
}
inline Corners corners_of(const CocoBox& box) {
  return {static_cast<float>(box[0]), static_cast<float>(box[1]),
          static_cast<float>(box[0] + box[2]), static_cast<float>(box[1] + box[3])};
}

// The box in the mirrored picture.
inline Corners mirrored(const Corners& box, float width) {
  return {width - box[2], box[1], width - box[0], box[3]};
}

// Scales width and height by `factor` around the centre.
inline Corners expanded(const Corners& box, float factor) {
  const float x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
  const float width = (box[2] - box[0]) / 2 * factor, height = (box[3] - box[1]) / 2 * factor;
  return {x - width, y - height, x + width, y + height};
}

}  // namespace lockstep
