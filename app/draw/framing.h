// SPDX-License-Identifier: Apache-2.0
// Pictures with boxes, enlarged, shrunk or cut out for display.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/coco/boxes.h"
#include "data/image.h"

namespace lockstep {

struct DrawnBox {
  Corners corners{};       // in the picture's pixels
  std::string label;       // may be empty, or any bytes
  std::size_t colour = 0;  // a class
  bool dashed = false;
};

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
