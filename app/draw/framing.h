// SPDX-License-Identifier: Apache-2.0
// Pictures with boxes, their masks and keypoints, enlarged, shrunk or cut out for display.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/draw/limbs.h"
#include "data/coco/annotations.h"
#include "data/image.h"

namespace lockstep {

// A keypoint. A hidden point is hollow; a point that is not known is not drawn.
enum class PointMark { none, hollow, filled };
struct DrawnPoint {
  float x = 0, y = 0;  // in the picture's pixels
  PointMark mark = PointMark::filled;
};

struct DrawnBox {
  Corners corners{};       // in the picture's pixels
  std::string label;       // may be empty, or any bytes
  std::size_t colour = 0;  // a class
  bool dashed = false;     // the lines around box and mask
  RunLengths mask = {};    // of the picture's size, or 0 x 0
  bool filled = true;      // the mask; otherwise only its outline is drawn
  std::vector<DrawnPoint> points = {};
  std::vector<Limb> limbs = {};  // between points
};

inline bool has_mask(const DrawnBox& box) { return box.mask.height > 0; }

struct DrawnPicture {
  Image image;
  std::vector<DrawnBox> boxes;
};

// Scale by a whole factor: enlarged() repeats each pixel, shrunk() averages squares of pixels.
Image enlarged(const Image& image, int64_t times);
Image shrunk(const Image& image, int64_t times);

// The greatest factor that keeps the sides within `side`; at least 1.
int64_t times_within(const Image& image, int64_t side);
// Shrinks by the smallest factor that keeps the sides within `side`.
DrawnPicture fitted(const DrawnPicture& picture, int64_t side);

// The part around a box, with a margin of 0.4 of the longer side and 8 pixels. The whole picture if
// the box is outside of the picture.
DrawnPicture cut_out(const DrawnPicture& picture, const Corners& around);

}  // namespace lockstep
