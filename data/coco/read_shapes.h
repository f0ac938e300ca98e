// SPDX-License-Identifier: Apache-2.0
// Reads the segmentation and the keypoints of an annotation into a table. Errors name the
// annotation.
#pragma once

#include "data/coco/annotations.h"
#include "data/coco/fields.h"

namespace lockstep {

// The largest height or width of a picture. Vertices and keypoints may be outside of their picture,
// but at most twice as far.
constexpr int64_t kLargestSide = 1 << 20;

// The run lengths at the key: {"size": [height, width], "counts": a list or a string}.
RunLengths read_run_lengths(const Fields& element, const char* key);

// Polygons with fewer than three points are dropped and counted.
void read_segmentation(const Fields& fields, Annotations& table, CocoObject& object);

void read_keypoints(const Fields& fields, Annotations& table, CocoObject& object);

// Throws unless the mask has the size of the object's picture and there are as many keypoints as
// the category names. Both may come later in a file than the object.
void check_shapes(const Annotations& table, const CocoObject& object);

}  // namespace lockstep
