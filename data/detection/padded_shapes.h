// SPDX-License-Identifier: Apache-2.0
// The few shapes that the pictures of a data set are padded to, since a graph has fixed shapes: one
// graph for each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct PictureSize {
  int64_t height = 0, width = 0;
  friend auto operator<=>(const PictureSize&, const PictureSize&) = default;
  int64_t area() const { return height * width; }
};

struct PaddingRules {
  int64_t stride = 32;       // sides are multiples of it
  std::size_t most = 6;      // shapes at the most
  int64_t least_images = 1;  // a shape with fewer pictures than a step takes is merged with another
};

struct PaddedShapes {
  struct Shape {
    PictureSize size;
    int64_t pictures = 0;
  };
  std::vector<Shape> shapes;  // by ascending area
  std::vector<int32_t> of;    // the shape of each picture
  double padding = 0;         // the share of all pixels that is padding
  std::string text() const;   // "2 shapes, 7.1 % padding: 800x1088 (60 pictures), .."
};

// Chooses shapes so that little is padding: begins with a shape for every size and merges the two
// that cost least, again and again. The same for the same sizes in any order.
PaddedShapes choose_shapes(const std::vector<PictureSize>& pictures, const PaddingRules& rules);

}  // namespace lockstep
