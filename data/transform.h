// From a picture to a network's input: a region is cut out, perhaps mirrored, resampled and
// normalised. Training, scoring and prediction all come through here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/image.h"
#include "runtime/philox.h"

namespace lockstep {

// What one network takes. It stands in the metadata of a trained network, so that a picture means
// the same to whoever reads it.
struct Preparation {
  int64_t channels = 3;  // 1: grey
  int64_t height = 224;
  int64_t width = 224;
  int64_t resize = 224;              // what the shorter side measures before the middle is cut out
  std::vector<float> mean{0, 0, 0};  // by channel, of values from 0 to 1
  std::vector<float> deviation{1, 1, 1};

  int64_t values() const { return channels * height * width; }
  // Of a channel's value from 0 to 255.
  float normalised(int64_t channel, float value) const {
    const auto c = static_cast<std::size_t>(channel);
    return value * (1 / (255 * deviation[c])) - mean[c] / deviation[c];
  }
  // And back, from 0 to 1.
  float light(int64_t channel, float normalised) const {
    const auto c = static_cast<std::size_t>(channel);
    return normalised * deviation[c] + mean[c];
  }
};

struct Region {
  double top = 0, left = 0, height = 0, width = 0;  // in pixels of the picture
};

// A random part of the picture: its share of the area within `scale`, its aspect ratio within 3/4
// to 4/3; where ten attempts do not fit, the middle.
Region random_region(int64_t height, int64_t width, std::array<double, 2> scale,
                     PhiloxSequence& random);
// The middle, which remains when the shorter side is resized and height x width is cut.
Region central_region(const Image& image, const Preparation& preparation);

// Bilinear; when the region shrinks, the filter widens so that every pixel counts. Writes
// [channels, height, width] values.
void prepare(const Image& image, const Preparation& preparation, const Region& region, bool mirror,
             float* chw);
// The middle, as held-out pictures and those to be classified are seen.
void prepare(const Image& image, const Preparation& preparation, float* chw);

// The picture that a network's input was made of, at the size of the input.
Image picture_of(const float* chw, const Preparation& preparation);

}  // namespace lockstep
