// SPDX-License-Identifier: Apache-2.0
// The overlap of two boxes.
#pragma once

#include <algorithm>

#include "data/coco/boxes.h"

namespace lockstep {

inline double area_of(const CocoBox& box) { return box[2] * box[3]; }

inline double intersection(const CocoBox& a, const CocoBox& b) {
  const double width = std::min(a[0] + a[2], b[0] + b[2]) - std::max(a[0], b[0]);
  const double height = std::min(a[1] + a[3], b[1] + b[3]) - std::max(a[1], b[1]);
  return width > 0 && height > 0 ? width * height : 0;
}

// The overlap (intersection over union) of a detection and an object. For a crowd, the fraction of
// the detection inside the crowd.
inline double overlap(const CocoBox& detection, const CocoBox& object, bool crowd) {
  const double both = intersection(detection, object);
  if (both == 0) return 0;
  return both / (crowd ? area_of(detection) : area_of(detection) + area_of(object) - both);
}

}  // namespace lockstep
