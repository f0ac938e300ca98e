// Boxes by their corners: left, top, right, bottom.
#pragma once

#include <array>

namespace lockstep {

using Corners = std::array<float, 4>;

// In the mirrored picture. Half-open boxes.
inline Corners mirrored(const Corners& box, float width) {
  return {width - box[2], box[1], width - box[0], box[3]};
}

// Around its centre, `factor` times as wide and high.
inline Corners expanded(const Corners& box, float factor) {
  const float x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
  const float width = (box[2] - box[0]) / 2 * factor, height = (box[3] - box[1]) / 2 * factor;
  return {x - width, y - height, x + width, y + height};
}

}  // namespace lockstep
