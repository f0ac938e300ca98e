// SPDX-License-Identifier: Apache-2.0
// Boxes and overlaps of masks, with the bits of pycocotools.
#pragma once

#include <span>

#include "data/coco/annotations.h"

namespace lockstep {

// The smallest box around the mask's pixels; all 0 for a mask without pixels.
CocoBox box_of(const RunLengths& mask);

// The overlap (intersection over union) of the masks of a detection and an object. For a crowd, the
// fraction of the detection inside the crowd. The caller has the boxes of the masks: masks whose
// boxes are apart are not looked at. Throws unless the masks have one size.
double overlap(const RunLengths& detection, const CocoBox& detection_box, const RunLengths& object,
               const CocoBox& object_box, bool crowd);

// The overlap of each detection with each object: [detections, objects]. `crowd` has an element for
// each object.
std::vector<double> overlaps(std::span<const RunLengths> detections,
                             std::span<const RunLengths> objects, const std::vector<bool>& crowd);

}  // namespace lockstep
