// SPDX-License-Identifier: Apache-2.0
// The anchors of an image, by group. A group has the anchors of one base box in all cells of one
// level. The anchors of a group that are inside the image, or that touch an object, are a rectangle
// of cells. So no list of anchors is made, and no object is compared with all anchors.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/targets/overlaps.h"
#include "operators/targets/targets.h"

namespace lockstep {

struct AnchorGroup {
  TargetBox base;
  float stride;
  int64_t height, width;  // cells
  int64_t level;
  int64_t first;  // index of the first anchor among all anchors of the image
  int64_t place;  // index of the first anchor among all anchors of its level

  int64_t count() const { return height * width; }
  TargetBox anchor(int64_t cell) const;
};

// Groups are ordered by base box, then by level, so that the threads that share the list get
// similar work.
std::vector<AnchorGroup> groups_of(const AnchorTargetsAttrs& attrs);

struct Cells {
  int64_t left, right, top, bottom;  // half-open
};

struct ImageBounds {
  float height, width;
  float straddle;  // -1: anchors may be anywhere
};
Cells cells_inside(const AnchorGroup& group, const ImageBounds& image);

// Each anchor's best overlap and the row of its best object, the first among equal overlaps. Both
// arrays belong to the group.
struct GroupMatches {
  float* best;
  int32_t* rows;
};
inline constexpr float kBestAnchor = 2;  // overlap assigned to the best anchors of an object

// Updates `matches` for anchors inside `cells` only. Returns the object's highest overlap with the
// group.
float match_object(const AnchorGroup& group, const Cells& cells, const TargetBox& object,
                   int32_t row, const GroupMatches& matches);
// Sets the overlap of all anchors with exactly the overlap `highest` to kBestAnchor.
void mark_best(const AnchorGroup& group, const Cells& cells, const TargetBox& object, float highest,
               const GroupMatches& matches);

}  // namespace lockstep
