// SPDX-License-Identifier: Apache-2.0
// The anchors of an image, by group: those of one base box in all cells of one level. A group's
// anchors that lie in the image, or that touch an object, are a rectangle of cells, so no list of
// anchors is ever made and no object meets all of them.
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
  int64_t first;  // number of its first anchor among all of the image
  int64_t place;  // and among those of its level

  int64_t count() const { return height * width; }
  TargetBox anchor(int64_t cell) const;
};

// Base box by base box, level by level: threads that share the list out get alike work.
std::vector<AnchorGroup> groups_of(const AnchorTargetsAttrs& attrs);

struct Cells {
  int64_t left, right, top, bottom;  // half-open
};

struct ImageBounds {
  float height, width;
  float straddle;  // -1: anchors may lie anywhere
};
Cells cells_inside(const AnchorGroup& group, const ImageBounds& image);

// The overlap and the row of each anchor's best object, the first among equal ones. `best` and
// `rows` are the group's, `highest[i]` the highest overlap of object i with the group.
struct GroupMatches {
  float* best;
  int32_t* rows;
};
inline constexpr float kBestAnchor = 2;  // as overlap, of anchors that are an object's best

// Looks at anchors inside `cells` only; others are left as they are.
float match_object(const AnchorGroup& group, const Cells& cells, const TargetBox& object,
                   int32_t row, const GroupMatches& matches);
// Sets the overlap of all anchors with exactly the overlap `highest` to kBestAnchor.
void mark_best(const AnchorGroup& group, const Cells& cells, const TargetBox& object, float highest,
               const GroupMatches& matches);

}  // namespace lockstep
