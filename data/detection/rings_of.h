// SPDX-License-Identifier: Apache-2.0
// The mask of an object as rings of vertices, which training feeds. Rings are drawn in their order:
// a ring with an even number sets the pixels inside, a ring with an odd number, a hole, clears
// them.
#pragma once

#include "data/coco/annotations.h"

namespace lockstep {

struct Rings {
  std::vector<double> xy;        // x, y, x, y, .. in picture coordinates, ring by ring
  std::vector<int64_t> ring_of;  // by vertex: the ring's number; numbers ascend and may have gaps

  std::size_t vertices() const { return ring_of.size(); }
};

// The polygons of an object are rings 0, 2, 4, ..; an object's run lengths become contours.
Rings rings_of(const Annotations& table, const CocoObject& object);

// The contours of a mask along the edges of pixels: an outline comes before its holes, a hole
// before the islands inside. Pixels that touch only at a corner are apart, so the drawn rings are
// exactly the mask.
Rings rings_of(const RunLengths& mask);

// The number of vertices of the rings, found without following contours.
int64_t vertices_of(const Annotations& table, const CocoObject& object);
int64_t vertices_of(const RunLengths& mask);

// Draws the rings on an empty mask.
RunLengths mask_of(const Rings& rings, int64_t height, int64_t width);

}  // namespace lockstep
