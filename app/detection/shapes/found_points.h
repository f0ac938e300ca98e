// SPDX-License-Identifier: Apache-2.0
// The points that a keypoint head predicts for a box.
#pragma once

#include <span>
#include <vector>

#include "app/detection/find/found_boxes.h"

namespace lockstep {

// The best cell of each heatmap [keypoints, size, size] of logits, after cubic enlargement to the
// pixels of the box, or to `inference_min_size` pixels if a side of the box has fewer. 0: no such
// limit. The inverse of KeypointTargets, as in Detectron: among equal cells, the first counts.
// Throws unless the box is finite.
std::vector<FoundPoint> found_points(std::span<const float> heatmaps, int64_t keypoints,
                                     int64_t size, const Corners& box, double inference_min_size);

}  // namespace lockstep
