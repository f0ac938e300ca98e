// SPDX-License-Identifier: Apache-2.0
// Matrices of overlaps between detections and objects of a picture.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/results.h"

namespace lockstep {

// `detections` and `objects` are indices in the lists of detections and in Annotations::objects,
// all of one picture. The result is ordered detection by detection.
using Places = std::span<const std::size_t>;
using OverlapMatrix = std::function<std::vector<double>(Places detections, Places objects)>;

// The arguments must outlive the functions.
OverlapMatrix box_overlaps(const Annotations& truth, const std::vector<Detection>& found);
OverlapMatrix mask_overlaps(const Annotations& truth, const std::vector<RunLengths>& masks);
// COCO's similarity of points (OKS).
OverlapMatrix keypoint_overlaps(const Annotations& truth,
                                const std::vector<std::vector<float>>& keypoints,
                                const std::vector<double>& sigmas);

// Throws unless there is a mask of its picture's size for each detection.
void check_masks(const Annotations& truth, const std::vector<Detection>& found,
                 const std::vector<RunLengths>& masks);

}  // namespace lockstep
