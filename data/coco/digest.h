// SPDX-License-Identifier: Apache-2.0
// Digests by which a run that goes on knows its annotations again.
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Digests all that a detector may learn from: categories, sizes and order of images, and every
// field of their objects but the ids. "20 images, 45 objects, 0123456789abcdef". The pictures'
// files may move.
std::string digest_of(const Annotations& table);

// Repeats the digest of earlier versions, which lacks areas, polygons, masks and keypoints.
std::string digest_of_boxes(const Annotations& table);

}  // namespace lockstep
