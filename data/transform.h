// From a picture to a network's input: a region is cut out, perhaps mirrored, resampled and
// normalised.
#pragma once

#include <array>
#include <cstdint>

#include "data/image.h"
#include "runtime/philox.h"

namespace lockstep {

struct Region {
  double top = 0, left = 0, height = 0, width = 0;  // in pixels of the picture
};

// A random part of the picture: its share of the area within `scale`, its aspect ratio within 3/4
// to 4/3; where ten attempts do not fit, the middle.
Region random_region(int64_t height, int64_t width, std::array<double, 2> scale,
                     PhiloxSequence& random);
// The middle square that remains when the shorter side is resized to `shorter` and `size` is cut.
Region central_region(int64_t height, int64_t width, int64_t shorter, int64_t size);

struct Normalisation {
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};  // ImageNet's, of values from 0 to 1
  std::array<float, 3> deviation{0.229F, 0.224F, 0.225F};
};

struct Sampling {
  Region region;
  bool mirror = false;
  int64_t height = 224;
  int64_t width = 224;
  Normalisation normal;
};
// Bilinear; when the region shrinks, the filter widens so that every pixel counts. Writes
// [3, height, width] values.
void resample(const Image& image, const Sampling& sampling, float* chw);

}  // namespace lockstep
