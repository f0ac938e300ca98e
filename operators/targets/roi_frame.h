// SPDX-License-Identifier: Apache-2.0
// The frame of a RoI, in which its mask and its heatmaps are drawn.
#pragma once

#include <algorithm>

#include "operators/targets/overlaps.h"

namespace lockstep {

// Detectron measures a RoI from its first to its last pixel, so the sides of the half-open box are
// longer by 1. Its masks have sides of at least 1; here heatmaps do, too.
struct RoiFrame {
  explicit RoiFrame(const TargetBox& roi)
      : x1(roi.x1),
        y1(roi.y1),
        last_x(roi.x2 - 1),
        last_y(roi.y2 - 1),
        width(std::max(last_x - x1, 1.0F)),
        height(std::max(last_y - y1, 1.0F)) {}

  float x1, y1, last_x, last_y, width, height;
};

}  // namespace lockstep
