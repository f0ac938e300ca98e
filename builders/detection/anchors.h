// SPDX-License-Identifier: Apache-2.0
// Base anchors of detectors: the boxes around the first cell of a level.
#pragma once

#include <vector>

namespace lockstep {

// Four numbers a box, half-open; for each aspect ratio (height / width) one box a size. Sizes are
// the sides of square boxes. As in Detectron, whose x2 and y2 are ours less 1, the sides of a box
// of the stride's area are rounded to whole pixels, half to even, before they grow to the size.
std::vector<float> base_anchors(double stride, const std::vector<double>& sizes,
                                const std::vector<double>& aspect_ratios);

}  // namespace lockstep
