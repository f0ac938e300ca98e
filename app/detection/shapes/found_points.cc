// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/found_points.h"

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"
#include "operators/resize/line.h"
#include "operators/targets/roi_frame.h"

namespace lockstep {
namespace {

constexpr float kLongestSide = 1 << 20;  // of a box, in pixels
constexpr float kNegligible = -60;       // exp() of less adds nothing to a float's sum

// A heatmap's cells along one side of a box, enlarged.
struct EnlargedSide {
  float factor;                  // pixels of the box for each cell of the enlarged heatmap
  std::vector<ResizeTaps> taps;  // of each cell

  EnlargedSide(float side, int64_t size, double least) {
    ResizeLine line;
    line.mode = ResizeMode::cubic;
    line.before = size;
    line.after = static_cast<int64_t>(std::max<double>(std::ceil(side), least));
    line.scale = static_cast<double>(line.after) / static_cast<double>(size);
    factor = side / static_cast<float>(line.after);
    for (int64_t i = 0; i < line.after; ++i) taps.push_back(line.taps(i));
  }
  // The middle of a cell, in pixels from the begin of the box.
  double middle(std::size_t cell) const {
    return (static_cast<double>(cell) + 0.5) * static_cast<double>(factor);
  }
};

class EnlargedHeatmap {
 public:
  EnlargedHeatmap(const RoiFrame& frame, int64_t size, double least)
      : frame_(frame),
        size_(size),
        columns_(frame.width, size, least),
        rows_(frame.height, size, least),
        stretched_(static_cast<std::size_t>(size) * width()),
        cells_(rows_.taps.size() * width()) {}

  FoundPoint best_of(const float* heatmap) {
    for (int64_t row = 0; row < size_; ++row) stretch(row, heatmap + row * size_);
    for (std::size_t row = 0; row < rows_.taps.size(); ++row) interpolate(row);
    const auto best = std::max_element(cells_.begin(), cells_.end());
    double sum = 0;  // of a softmax over all cells
    for (const float cell : cells_)
      if (const float below = cell - *best; below > kNegligible)
        sum += static_cast<double>(std::exp(below));
    const auto place = static_cast<std::size_t>(best - cells_.begin());
    return {static_cast<float>(columns_.middle(place % width()) + static_cast<double>(frame_.x1)),
            static_cast<float>(rows_.middle(place / width()) + static_cast<double>(frame_.y1)),
            *best, static_cast<float>(1 / sum)};
  }

 private:
  std::size_t width() const { return columns_.taps.size(); }

  void stretch(int64_t row, const float* from) {
    float* to = stretched_.data() + static_cast<std::size_t>(row) * width();
    for (std::size_t x = 0; x < width(); ++x) {
      const ResizeTaps& taps = columns_.taps[x];
      float sum = 0;
      for (int k = 0; k < ResizeTaps::kMost; ++k) sum += from[taps.place[k]] * taps.weight[k];
      to[x] = sum;
    }
  }

  void interpolate(std::size_t row) {
    const ResizeTaps& taps = rows_.taps[row];
    const auto at = [&](int k) {
      return stretched_.data() + static_cast<std::size_t>(taps.place[k]) * width();
    };
    const float *first = at(0), *second = at(1), *third = at(2), *fourth = at(3);
    float* to = cells_.data() + row * width();
    for (std::size_t x = 0; x < width(); ++x)
      to[x] = first[x] * taps.weight[0] + second[x] * taps.weight[1] + third[x] * taps.weight[2] +
              fourth[x] * taps.weight[3];
  }

  RoiFrame frame_;
  int64_t size_;
  EnlargedSide columns_, rows_;
  std::vector<float> stretched_;  // [size, width]
  std::vector<float> cells_;      // [height, width]
};

}  // namespace

std::vector<FoundPoint> found_points(std::span<const float> heatmaps, int64_t keypoints,
                                     int64_t size, const Corners& box, double inference_min_size) {
  check(size > 0 && heatmaps.size() == static_cast<std::size_t>(keypoints * size * size),
        "heatmaps of ", heatmaps.size(), " numbers, should be ", keypoints, " x ", size, " x ",
        size);
  check(std::all_of(box.begin(), box.end(), [](float at) { return std::isfinite(at); }) &&
            box[2] - box[0] < kLongestSide && box[3] - box[1] < kLongestSide,
        "points cannot be found in a box of ", box[0], ", ", box[1], ", ", box[2], ", ", box[3]);
  const RoiFrame frame({box[0], box[1], box[2], box[3]});
  EnlargedHeatmap enlarged(frame, size, inference_min_size);
  std::vector<FoundPoint> points;
  for (int64_t k = 0; k < keypoints; ++k)
    points.push_back(enlarged.best_of(heatmaps.data() + k * size * size));
  return points;
}

}  // namespace lockstep
