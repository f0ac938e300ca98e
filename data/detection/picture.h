// SPDX-License-Identifier: Apache-2.0
// Prepares a picture for a detector: scales the picture, orders colours as blue, green, red,
// subtracts the mean colour, and pads with zeros.
#pragma once

#include <array>
#include <cstdint>

#include "data/image.h"

namespace lockstep {

struct PictureScale {
  double scale = 1;
  int64_t height = 0, width = 0;  // after scaling
};

// Scales the shorter side to `target` pixels, or less if the longer side would exceed `most`.
PictureScale scale_to(int64_t height, int64_t width, int64_t target, int64_t most);

// Rounds `size` up to a multiple of `stride`.
int64_t padded(int64_t size, int64_t stride);

// A part of a scaled picture.
struct PictureCrop {
  int64_t top = 0, left = 0;
  int64_t height = 0, width = 0;
};

struct PictureRules {
  std::array<float, 3> means{102.9801F, 115.9465F, 122.7717F};  // of blue, green, red
  bool mirrored = false;
  PictureCrop crop = {};  // of the scaled and mirrored picture; 0 x 0: the whole picture
};

// A [3, height, width] tensor.
struct PictureTensor {
  float* data = nullptr;
  int64_t height = 0, width = 0;
};

// Interpolates linearly between the centres of pixels, without smoothing. Uses the exact scale, not
// the ratio of rounded sizes. The scaled picture, or its part, must fit into the tensor.
void write_picture(const Image& image, const PictureScale& scale, const PictureRules& rules,
                   const PictureTensor& to);

}  // namespace lockstep
