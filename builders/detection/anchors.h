// Anchors of detectors, with Detectron's rounding.
#pragma once

#include <vector>

namespace lockstep {

// Boxes of one cell, half-open, four numbers each: for every aspect ratio (height / width) one box
// of each size. The stride decides how widths and heights are rounded.
std::vector<float> base_anchors(double stride, const std::vector<double>& sizes,
                                const std::vector<double>& aspect_ratios);

}  // namespace lockstep
