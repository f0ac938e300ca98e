// SPDX-License-Identifier: Apache-2.0
// This file is compiled without fused multiply-adds, which would move single pixels.
#include "runtime/masks/polygon_runs.h"

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kScale = 5;   // fine steps per pixel
constexpr int64_t kCentre = 2;  // the fine step at the centre of pixel 0

struct FinePoint {
  int64_t x = 0, y = 0;
};

// Rounds towards zero after adding a half, also negative numbers: so does pycocotools.
int64_t rounded(double value) { return static_cast<int64_t>(value + .5); }

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// A side from the end that comes first along the longer axis, traced step by step along that axis.
class TracedSide {
 public:
  TracedSide(FinePoint from, FinePoint to) {
    const int64_t wide = std::abs(to.x - from.x), high = std::abs(to.y - from.y);
    flat_ = wide >= high;
    if (flat_ ? from.x > to.x : from.y > to.y) std::swap(from, to);
    from_ = from;
    steps_ = flat_ ? wide : high;
    const int64_t rise = flat_ ? to.y - from.y : to.x - from.x;
    if (steps_ > 0) slope_ = static_cast<double>(rise) / static_cast<double>(steps_);
  }

  // Calls with each column of pixels whose centres the side crosses, and with the height of the
  // crossing on the fine grid.
  template <class Crossed>
  void cross(int64_t width, const Crossed& crossed) const {
    const int64_t begin = x(0), end = x(steps_);
    const int64_t low = std::min(begin, end), high = std::max(begin, end) - 1;
    const int64_t first = std::max<int64_t>(0, floor_div(low - kCentre + kScale - 1, kScale));
    const int64_t last = std::min(width - 1, floor_div(high - kCentre, kScale));
    for (int64_t column = first; column <= last; ++column) {
      const int64_t step = last_step_before(kScale * column + kCentre);
      crossed(column, std::min(y(step), y(step + 1)));
    }
  }

 private:
  int64_t x(int64_t step) const { return flat_ ? from_.x + step : across(from_.x, step); }
  int64_t y(int64_t step) const { return flat_ ? across(from_.y, step) : from_.y + step; }
  int64_t across(int64_t start, int64_t step) const {
    return rounded(static_cast<double>(start) + slope_ * static_cast<double>(step));
  }

  // The step before the side passes from a fine column to the next, in either direction.
  int64_t last_step_before(int64_t fine) const {
    if (flat_) return fine - from_.x;
    const bool rising = x(0) <= fine;
    int64_t low = 0, high = steps_;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      ((x(middle) <= fine) == rising ? low : high) = middle;
    }
    return low;
  }

  FinePoint from_;
  bool flat_ = true;
  int64_t steps_ = 0;
  double slope_ = 0;
};

// Calls with each place in a mask, column by column, from which the side toggles all pixels.
template <class Changed>
void toggle_pixels(FinePoint from, FinePoint to, int64_t height, int64_t width,
                   const Changed& changed) {
  TracedSide(from, to).cross(width, [&](int64_t column, int64_t y) {
    const int64_t row = std::clamp<int64_t>(floor_div(y + kCentre, kScale), 0, height);
    changed(static_cast<uint32_t>(column * height + row));
  });
}

int64_t on_fine_grid(double coordinate) {
  return rounded(static_cast<double>(kScale) * coordinate);
}

// Sorts places, and removes each pair of equal ones: the mask changes there twice.
void keep_changes(std::vector<uint32_t>& places) {
  std::sort(places.begin(), places.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (i + 1 < places.size() && places[i + 1] == places[i])
      ++i;
    else
      places[kept++] = places[i];
  places.resize(kept);
}

std::vector<FinePoint> fine_points(std::span<const double> xy) {
  check(xy.size() % 2 == 0, "a polygon of ", xy.size(),
        " numbers, should have two for each vertex");
  std::vector<FinePoint> points(xy.size() / 2);
  for (std::size_t i = 0; i < xy.size(); ++i) {
    check(std::abs(xy[i]) <= kLargestDrawn, "vertex ", i / 2, " of the polygon is at ",
          i % 2 ? "y " : "x ", xy[i], ", the most is ", kLargestDrawn);
    (i % 2 ? points[i / 2].y : points[i / 2].x) = on_fine_grid(xy[i]);
  }
  return points;
}

}  // namespace

std::vector<uint32_t> polygon_runs(std::span<const double> xy, int64_t height, int64_t width) {
  check(height >= 1 && width >= 1 && height <= UINT32_MAX / width, "a mask of ", height, " x ",
        width, " pixels cannot be drawn");
  const std::vector<FinePoint> points = fine_points(xy);
  std::vector<uint32_t> changes;
  std::size_t enough = std::size_t{1} << 20;  // bounds the memory, however long the polygon is
  for (std::size_t i = 0; i < points.size(); ++i) {
    toggle_pixels(points[i], points[(i + 1) % points.size()], height, width,
                  [&](uint32_t place) { changes.push_back(place); });
    if (changes.size() < enough) continue;
    keep_changes(changes);
    enough = std::max(enough, 2 * changes.size());
  }
  keep_changes(changes);
  const auto end = static_cast<uint32_t>(height * width);
  if (changes.empty() || changes.back() != end) changes.push_back(end);
  for (std::size_t i = changes.size(); i-- > 1;) changes[i] -= changes[i - 1];
  return changes;
}

bool can_be_drawn(const DrawnVertex& vertex) {
  return std::abs(vertex.x) <= kLargestDrawn && std::abs(vertex.y) <= kLargestDrawn;
}

int64_t side_changes(const DrawnVertex& from, const DrawnVertex& to, int64_t height, int64_t width,
                     uint32_t* changes) {
  int64_t count = 0;
  toggle_pixels({on_fine_grid(from.x), on_fine_grid(from.y)},
                {on_fine_grid(to.x), on_fine_grid(to.y)}, height, width,
                [&](uint32_t place) { changes[count++] = place; });
  return count;
}

}  // namespace lockstep
