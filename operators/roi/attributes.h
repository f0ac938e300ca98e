// SPDX-License-Identifier: Apache-2.0
// Attributes and checks shared by the RoI operators.
#pragma once

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/roi/roi.h"

namespace lockstep {

// Writes the attributes without the mode and the scales.
Attributes write_roi_align(const RoiAlignAttrs& attrs);
std::vector<FormalAttribute> roi_align_formals();
void check_roi_scale(float scale);
void check_pooled_size(int64_t height, int64_t width);

// Checks operand `i`, boxes of `columns` numbers. Returns the number of RoIs.
Dim demand_rois(const Inference& inference, std::size_t i, int columns);
// Checks operand `i`, which has an index for each RoI.
void demand_indices(const Inference& inference, std::size_t i, const Dim& rois);
void demand_floats(const Inference& inference, std::size_t i);
Shape pooled(const Dim& rois, const Dim& channels, const RoiAlignAttrs& attrs);

// The arithmetic of a RoiAlign with `values` elements in its result, or in its gradient's operand:
// each is a mean of points, and each point a weighted sum of four pixels. Where the number of
// points depends on the boxes (sampling_ratio 0), 2 x 2 points are counted, as detectors are
// configured.
Flops roi_align_flops(const Node& node, double values);

std::vector<Op> multilevel_ops();
std::vector<Op> position_ops();

}  // namespace lockstep
