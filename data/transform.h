// SPDX-License-Identifier: Apache-2.0
// Turns an image into a network's input: crops a region, optionally mirrors, resamples and
// normalises. Training, scoring and prediction all use this code.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/image.h"
#include "lockstep/random.h"

namespace lockstep {

// The image preparation of a network. A trained network stores its preparation in the metadata, so
// that prediction prepares images as training did.
struct Preparation {
  int64_t channels = 3;  // 1: grey
  int64_t height = 224;
  int64_t width = 224;
  int64_t resize = 224;              // length of the shorter side before the centre crop
  std::vector<float> mean{0, 0, 0};  // by channel, for values from 0 to 1
  std::vector<float> deviation{1, 1, 1};

  int64_t values() const { return channels * height * width; }
  // A channel's value from 0 to 255 is normalised as value * scale - shift.
  float scale(int64_t channel) const { return 1 / (255 * deviation[channel]); }
  float shift(int64_t channel) const {
    const std::size_t c = channel;
    return mean[c] / deviation[c];
  }
  float normalised(int64_t channel, float value) const {
    return value * scale(channel) - shift(channel);
  }
  // The inverse, to a value from 0 to 1.
  float light(int64_t channel, float normalised) const {
    const std::size_t c = channel;
    return normalised * deviation[c] + mean[c];
  }
};

// Means and deviations of ImageNet's pictures, for values from 0 to 1.
inline constexpr std::array<double, 3> kImageNetMean{0.485, 0.456, 0.406},
    kImageNetDeviation{0.229, 0.224, 0.225};
// The preparation of a network on photographs.
Preparation image_net_preparation(int64_t size, int64_t resize);

struct Region {
  double top = 0, left = 0, height = 0, width = 0;  // in pixels of the image
};

// A random part of the image. The part's fraction of the area is within `scale`, and its aspect
// ratio is within 3/4 to 4/3. Returns the centre if ten attempts do not fit.
Region random_region(int64_t height, int64_t width, std::array<double, 2> scale,
                     PhiloxSequence& random);
// The centre crop: height x width, after resizing the shorter side to `resize`.
Region central_region(const Image& image, const Preparation& preparation);

// Resamples bilinearly. When shrinking, the filter is widened to cover every pixel. Writes
// [channels, height, width] values.
void prepare(const Image& image, const Preparation& preparation, const Region& region, bool mirror,
             float* chw);
// Writes values before normalisation, rounded to bytes.
void prepare(const Image& image, const Preparation& preparation, const Region& region, bool mirror,
             uint8_t* chw);
// Prepares the centre crop, for held-out images and for prediction.
void prepare(const Image& image, const Preparation& preparation, float* chw);
void prepare(const Image& image, const Preparation& preparation, uint8_t* chw);

// Converts a network's input back to an image of the input's size.
Image picture_of(const float* chw, const Preparation& preparation);
Image picture_of(const uint8_t* chw, const Preparation& preparation);

}  // namespace lockstep
