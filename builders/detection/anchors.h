// SPDX-License-Identifier: Apache-2.0
// Base anchors of detectors: the boxes around the first cell of a level.
#pragma once

#include <vector>

namespace lockstep {

// Returns four numbers for each box, half-open; for each aspect ratio (height / width), one box for
// each size. A size is the side of a square box. As in Detectron, the sides of a box of area stride
// x stride are rounded to whole pixels, half to even, then scaled to the size. Detectron's x2 and
// y2 are smaller by 1.
std::vector<float> base_anchors(double stride, const std::vector<double>& sizes,
                                const std::vector<double>& aspect_ratios);

}  // namespace lockstep
