// SPDX-License-Identifier: Apache-2.0
// Chooses a few shapes to pad the pictures of a data set to. A graph has fixed shapes, so each
// padded shape needs a graph.
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
  int64_t stride = 32;       // sides are multiples of stride
  std::size_t most = 6;      // maximum number of shapes
  int64_t least_images = 1;  // pictures per shape; shapes with fewer are merged
};

struct PaddedShapes {
  struct Shape {
    PictureSize size;
    int64_t pictures = 0;
  };
  std::vector<Shape> shapes;  // by ascending area
  std::vector<int32_t> of;    // the shape of each picture
  double padding = 0;         // fraction of pixels that are padding
  std::string text() const;   // "2 shapes, 7.1 % padding: 800x1088 (60 pictures), .."
};

// Chooses shapes with little padding. Starts with a shape for every size and repeatedly merges the
// cheapest pair. The result does not depend on the order of pictures.
PaddedShapes choose_shapes(const std::vector<PictureSize>& pictures, const PaddingRules& rules);

}  // namespace lockstep
