// SPDX-License-Identifier: Apache-2.0
// Digests of annotations, to check that a resumed run has the same annotations.
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Digests everything that a detector may learn from: categories, sizes and order of images, and all
// fields of objects except ids. Paths of pictures are not included. "20 images, 45 objects,
// 0123456789abcdef".
std::string digest_of(const Annotations& table);

// The digest of earlier versions, which lacks areas, polygons, masks and keypoints.
std::string digest_of_boxes(const Annotations& table);

}  // namespace lockstep
