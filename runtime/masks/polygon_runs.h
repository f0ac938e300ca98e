// SPDX-License-Identifier: Apache-2.0
// Polygons drawn by COCO's rule. The sides are traced on a grid that is five times as fine as the
// pixels; a pixel is set if its centre, on that grid, is inside by the even-odd rule. A polygon may
// cross itself and may leave the mask, which then shows the part inside.
#pragma once

#include "runtime/masks/runs.h"

namespace lockstep {

// The largest coordinate that can be drawn, in pixels.
constexpr double kLargestDrawn = 1099511627776.;  // 2^40

// Draws the polygon of the vertices x, y, x, y, .. on a mask of height x width pixels: run lengths
// column by column, bit for bit as pycocotools draws it. A polygon without vertices sets nothing.
// Throws if a number is not finite or larger than kLargestDrawn.
std::vector<uint32_t> polygon_runs(std::span<const double> xy, int64_t height, int64_t width);

// The same drawing without any memory, side by side.
struct DrawnVertex {
  double x, y;
};
// False if a coordinate is not finite or larger than kLargestDrawn.
bool can_be_drawn(const DrawnVertex& vertex);
// A side of a polygon toggles all pixels, column by column, from each of several places to the end
// of the mask. Writes these places, at most one for each column, and returns their number. A place
// may be the end of the mask.
int64_t side_changes(const DrawnVertex& from, const DrawnVertex& to, int64_t height, int64_t width,
                     uint32_t* changes);

}  // namespace lockstep
