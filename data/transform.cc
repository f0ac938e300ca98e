#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

// The pixels that one place of the result is made of.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

// A triangle around the place's centre, as wide as the larger of a source and a result pixel.
std::vector<Taps> taps_of(double start, double length, int64_t source, int64_t target) {
  const double scale = length / static_cast<double>(target), reach = std::max(1.0, scale);
  std::vector<Taps> places(static_cast<std::size_t>(target));
  for (int64_t i = 0; i < target; ++i) {
    const double centre = start + (static_cast<double>(i) + 0.5) * scale;
    const int64_t low = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - reach)));
    const int64_t high = std::min(source, static_cast<int64_t>(std::ceil(centre + reach)));
    Taps& taps = places[static_cast<std::size_t>(i)];
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

}  // namespace

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

Region central_region(int64_t height, int64_t width, int64_t shorter, int64_t size) {
  const double side = static_cast<double>(std::min(height, width)) * static_cast<double>(size) /
                      static_cast<double>(shorter);
  return {(static_cast<double>(height) - side) / 2, (static_cast<double>(width) - side) / 2, side,
          side};
}

void resample(const Image& image, const Sampling& s, float* chw) {
  const auto across = taps_of(s.region.left, s.region.width, image.width, s.width);
  const auto down = taps_of(s.region.top, s.region.height, image.height, s.height);
  const int64_t first = down.front().first;
  const int64_t last =
      down.back().first + static_cast<int64_t>(down.back().weights.size());  // rows that are needed
  // Each needed row of the picture at its new width, then columns.
  std::vector<float> rows(static_cast<std::size_t>((last - first) * s.width * 3));
  for (int64_t y = first; y < last; ++y)
    for (int64_t x = 0; x < s.width; ++x) {
      const Taps& taps = across[static_cast<std::size_t>(s.mirror ? s.width - 1 - x : x)];
      float sum[3] = {0, 0, 0};
      const uint8_t* pixel =
          &image.rgb[static_cast<std::size_t>(3 * (y * image.width + taps.first))];
      for (float weight : taps.weights)
        for (int c = 0; c < 3; ++c) sum[c] += weight * static_cast<float>(*pixel++);
      for (int c = 0; c < 3; ++c)
        rows[static_cast<std::size_t>(((y - first) * s.width + x) * 3 + c)] = sum[c];
    }
  for (int c = 0; c < 3; ++c) {
    const float slope = 1 / (255 * s.normal.deviation[static_cast<std::size_t>(c)]);
    const float offset = -s.normal.mean[static_cast<std::size_t>(c)] /
                         s.normal.deviation[static_cast<std::size_t>(c)];
    for (int64_t y = 0; y < s.height; ++y) {
      const Taps& taps = down[static_cast<std::size_t>(y)];
      for (int64_t x = 0; x < s.width; ++x) {
        float sum = 0;
        const float* value =
            &rows[static_cast<std::size_t>(((taps.first - first) * s.width + x) * 3 + c)];
        for (float weight : taps.weights) {
          sum += weight * *value;
          value += 3 * s.width;
        }
        chw[(c * s.height + y) * s.width + x] = sum * slope + offset;
      }
    }
  }
}

}  // namespace lockstep
