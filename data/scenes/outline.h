// SPDX-License-Identifier: Apache-2.0
// Outlines of the objects of scenes, as polygons.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/coco/boxes.h"

namespace lockstep {

struct ScenePoint {
  double x = 0, y = 0;
};
using Outline = std::vector<ScenePoint>;

// Shapes in the order of the categories.
enum class SceneShape { disc, box, triangle, arrow };
inline constexpr std::array kSceneShapes{"disc", "box", "triangle", "arrow"};

// Keypoints of an arrow. Barbs and corners of the tail are pairs.
inline constexpr std::array kArrowPoints{"tip", "left_barb", "right_barb", "left_tail",
                                         "right_tail"};
inline constexpr double kArrowSigma = 0.05;  // of each point, in scores of keypoints
inline constexpr std::array<std::size_t, 5> kArrowPlaces{0, 6, 1, 4, 3};  // indices in outline

// An outline around the origin, about two wide and high. `slant` changes the proportions of boxes
// and discs.
Outline outline_of(SceneShape shape, double slant);

// Turns the outline, scales the longer side of its bounding box to `side`, and moves the box's
// upper left corner to `corner`. Rounds points to sixteenths of a pixel.
Outline placed(const Outline& outline, double turn, double side, ScenePoint corner);

// The bounding box of an outline.
CocoBox bounds_of(const Outline& outline);
double area_of(const Outline& outline);
bool contains(const Outline& outline, ScenePoint point);

// Calls `paint(row, first, last)` for pixels with centres inside the outline: columns [first, last)
// of a row, within a picture of height x width.
void fill(const Outline& outline, int64_t height, int64_t width,
          const std::function<void(int64_t row, int64_t first, int64_t last)>& paint);

}  // namespace lockstep
