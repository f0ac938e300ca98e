// SPDX-License-Identifier: Apache-2.0
// The mask that a mask head predicts for a box, as a mask of the picture.
#pragma once

#include <span>

#include "data/coco/annotations.h"
#include "data/coco/boxes.h"
#include "data/detection/padded_shapes.h"

namespace lockstep {

// Enlarges probabilities [resolution, resolution] to the box and sets the picture's pixels whose
// probability is above `threshold`, as Detectron does. The part outside the picture is cut off.
// Throws unless the box is finite.
RunLengths pasted_mask(std::span<const float> mask, int64_t resolution, const Corners& box,
                       const PictureSize& picture, double threshold);

}  // namespace lockstep
