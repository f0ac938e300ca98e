// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/anchors.h"

#include <cmath>

#include "lockstep/error.h"

namespace lockstep {

// For each aspect ratio, a box with the area of a cell (stride x stride pixels) is rounded to whole
// pixels, then scaled to each size. The centre of all boxes is the centre of a box with inclusive
// corners 0 and stride - 1, half a pixel left of the cell's centre.
std::vector<float> base_anchors(double stride, const std::vector<double>& sizes,
                                const std::vector<double>& aspect_ratios) {
  check(stride > 0 && std::isfinite(stride), "anchors have a stride of ", stride,
        ", should be positive");
  const double centre = 0.5 * (stride - 1);
  std::vector<float> boxes;
  for (const double ratio : aspect_ratios) {
    check(ratio > 0 && std::isfinite(ratio), "an aspect ratio is ", ratio, ", should be positive");
    const double width = std::nearbyint(std::sqrt(stride * stride / ratio));
    const double height = std::nearbyint(width * ratio);
    check(width > 0 && height > 0, "aspect ratio ", ratio, " leaves anchors of stride ", stride,
          " no area");
    for (const double size : sizes) {
      check(size > 0 && std::isfinite(size), "an anchor's size is ", size, ", should be positive");
      const double right = 0.5 * (width * (size / stride) - 1);
      const double below = 0.5 * (height * (size / stride) - 1);
      for (const double corner :
           {centre - right, centre - below, centre + right + 1, centre + below + 1})
        boxes.push_back(static_cast<float>(corner));
    }
  }
  return boxes;
}

}  // namespace lockstep
