// SPDX-License-Identifier: Apache-2.0
#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

// The source pixels of one result position.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

// A triangle filter around the centre of each result position. Its half-width is the larger of a
// source and a result pixel.
std::vector<Taps> taps_of(double start, double length, int64_t source, int64_t target) {
  const double scale = length / static_cast<double>(target), reach = std::max(1.0, scale);
  std::vector<Taps> places(target);
  for (int64_t i = 0; i < target; ++i) {
    const double centre = start + (static_cast<double>(i) + 0.5) * scale;
    const int64_t low = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - reach)));
    const int64_t high = std::min(source, static_cast<int64_t>(std::ceil(centre + reach)));
    Taps& taps = places[i];
    taps.first = std::clamp<int64_t>(low, 0, source - 1);
    double total = 0;
    std::vector<double> weights;
    for (int64_t at = taps.first; at < std::max(high, taps.first + 1); ++at) {
      const double distance = std::abs(static_cast<double>(at) + 0.5 - centre) / reach;
      weights.push_back(std::max(0.0, 1 - distance));
      total += weights.back();
    }
    for (double weight : weights)
      taps.weights.push_back(static_cast<float>(
          total > 0 ? weight / total : 1.0 / static_cast<double>(weights.size())));
  }
  return places;
}

uint8_t nearest_byte(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.F, 255.F) + 0.5F);
}

// Luminance. Grey colours keep their value.
float grey(const uint8_t* rgb) {
  return static_cast<float>(299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
}

// Calls written(channel, value) for every element in order, with values from 0 to 255.
template <class Written>
void resample(const Image& image, const Preparation& to, const Region& region, bool mirror,
              const Written& written) {
  const auto across = taps_of(region.left, region.width, image.width, to.width);
  const auto down = taps_of(region.top, region.height, image.height, to.height);
  const int64_t first = down.front().first;
  const int64_t last =
      down.back().first + static_cast<int64_t>(down.back().weights.size());  // end of needed rows
  const int64_t channels = to.channels;
  // Resamples each needed row to its new width, then the columns.
  std::vector<float> rows((last - first) * to.width * channels);
  for (int64_t y = first; y < last; ++y)
    for (int64_t x = 0; x < to.width; ++x) {
      const Taps& taps = across[mirror ? to.width - 1 - x : x];
      float sum[3] = {0, 0, 0};
      const uint8_t* pixel = &image.rgb[3 * (y * image.width + taps.first)];
      for (float weight : taps.weights) {
        if (channels == 1)
          sum[0] += weight * grey(pixel);
        else
          for (int c = 0; c < 3; ++c) sum[c] += weight * static_cast<float>(pixel[c]);
        pixel += 3;
      }
      for (int64_t c = 0; c < channels; ++c)
        rows[((y - first) * to.width + x) * channels + c] = sum[c];
    }
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < to.height; ++y) {
      const Taps& taps = down[y];
      for (int64_t x = 0; x < to.width; ++x) {
        float sum = 0;
        const float* value = &rows[((taps.first - first) * to.width + x) * channels + c];
        for (float weight : taps.weights) {
          sum += weight * *value;
          value += channels * to.width;
        }
        written(c, sum);
      }
    }
}

// `colour(channel, place)` returns a byte.
template <class Colour>
Image picture_with(const Preparation& preparation, const Colour& colour) {
  Image image{preparation.height, preparation.width, {}};
  const int64_t plane = preparation.height * preparation.width;
  for (int64_t i = 0; i < plane; ++i)
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t channel = std::min(c, preparation.channels - 1);
      image.rgb.push_back(colour(channel, channel * plane + i));
    }
  return image;
}

}  // namespace

Preparation image_net_preparation(int64_t size, int64_t resize) {
  return {.channels = 3,
          .height = size,
          .width = size,
          .resize = resize,
          .mean = {kImageNetMean.begin(), kImageNetMean.end()},
          .deviation = {kImageNetDeviation.begin(), kImageNetDeviation.end()}};
}

Region random_region(int64_t height, int64_t width, std::array<double, 2> scale,
                     PhiloxSequence& random) {
  const double h = static_cast<double>(height), w = static_cast<double>(width);
  const double least = std::log(3.0 / 4), most = std::log(4.0 / 3);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = h * w * random.uniform(scale[0], scale[1]);
    const double aspect = std::exp(random.uniform(least, most));
    const double across = std::sqrt(area * aspect), down = std::sqrt(area / aspect);
    if (across > w || down > h) continue;
    return {random.uniform(0, h - down), random.uniform(0, w - across), down, across};
  }
  const double across = std::min(w, h * 4 / 3), down = std::min(h, w * 4 / 3);
  return {(h - down) / 2, (w - across) / 2, down, across};
}

Region central_region(const Image& image, const Preparation& to) {
  const double height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double down = static_cast<double>(to.height), across = static_cast<double>(to.width);
  // Source pixels per result pixel.
  const double pixels = std::min(height / down, width / across) * std::min(down, across) /
                        static_cast<double>(to.resize);
  return {(height - pixels * down) / 2, (width - pixels * across) / 2, pixels * down,
          pixels * across};
}

void prepare(const Image& image, const Preparation& to, const Region& region, bool mirror,
             float* chw) {
  resample(image, to, region, mirror,
           [&](int64_t channel, float value) { *chw++ = to.normalised(channel, value); });
}

void prepare(const Image& image, const Preparation& to, const Region& region, bool mirror,
             uint8_t* chw) {
  resample(image, to, region, mirror, [&](int64_t, float value) { *chw++ = nearest_byte(value); });
}

void prepare(const Image& image, const Preparation& preparation, float* chw) {
  prepare(image, preparation, central_region(image, preparation), false, chw);
}

void prepare(const Image& image, const Preparation& preparation, uint8_t* chw) {
  prepare(image, preparation, central_region(image, preparation), false, chw);
}

Image picture_of(const float* chw, const Preparation& preparation) {
  return picture_with(preparation, [&](int64_t channel, int64_t place) {
    const float light = preparation.light(channel, chw[place]);
    return static_cast<uint8_t>(std::lround(255 * std::clamp(light, 0.F, 1.F)));
  });
}

Image picture_of(const uint8_t* chw, const Preparation& preparation) {
  return picture_with(preparation, [&](int64_t, int64_t place) { return chw[place]; });
}

}  // namespace lockstep
