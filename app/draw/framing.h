// SPDX-License-Identifier: Apache-2.0
// Pictures with boxes made larger, smaller or cut out, so that people see what there is to see.
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

// Whole factors: each pixel becomes many, or the mean of many becomes one.
Image enlarged(const Image& image, int64_t times);
Image shrunk(const Image& image, int64_t times);

// The greatest factor that keeps the sides within `side`; at least 1.
int64_t times_within(const Image& image, int64_t side);
// Shrunk as little as keeps them within.
DrawnPicture fitted(const DrawnPicture& picture, int64_t side);

// The part around a box, with a margin of some of its longer side and of some pixels. All of the
// picture if the box is nowhere in it.
DrawnPicture cut_out(const DrawnPicture& picture, const Corners& around);

}  // namespace lockstep
