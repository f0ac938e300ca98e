// SPDX-License-Identifier: Apache-2.0
// A picture as a detector takes it: scaled, in the order blue, green, red, less the mean colour,
// padded with zeros.
#pragma once

#include <array>
#include <cstdint>

#include "data/image.h"

namespace lockstep {

struct PictureScale {
  double scale = 1;
  int64_t height = 0, width = 0;  // after scaling
};

// The shorter side becomes `target` pixels long, or less if the longer one would be above `most`.
PictureScale scale_to(int64_t height, int64_t width, int64_t target, int64_t most);

// The next multiple of `stride`.
int64_t padded(int64_t size, int64_t stride);

struct PictureRules {
  std::array<float, 3> means{102.9801F, 115.9465F, 122.7717F};  // of blue, green, red
  bool mirrored = false;
};

// A [3, height, width] tensor.
struct PictureTensor {
  float* data = nullptr;
  int64_t height = 0, width = 0;
};

// Interpolates linearly by the scale itself, between the centres of pixels; no smoothing. The
// scaled picture must fit into the tensor.
void write_picture(const Image& image, const PictureScale& scale, const PictureRules& rules,
                   const PictureTensor& to);

}  // namespace lockstep
