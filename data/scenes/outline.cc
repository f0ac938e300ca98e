// SPDX-License-Identifier: Apache-2.0
#include "data/scenes/outline.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr int kDiscCorners = 24;

Outline ellipse(double height) {
  Outline outline;
  for (int i = 0; i < kDiscCorners; ++i) {
    const double angle = 2 * M_PI * i / kDiscCorners;
    outline.push_back({std::cos(angle), height * std::sin(angle)});
  }
  return outline;
}

// The x coordinates where the outline's edges cross the line at `y`, in ascending order.
std::vector<double> crossings(const Outline& outline, double y) {
  std::vector<double> found;
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const ScenePoint a = outline[i], b = outline[(i + 1) % outline.size()];
    if ((a.y <= y) != (b.y <= y)) found.push_back(a.x + (y - a.y) * (b.x - a.x) / (b.y - a.y));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Outline outline_of(SceneShape shape, double slant) {
  switch (shape) {
    case SceneShape::disc:
      return ellipse(slant);
    case SceneShape::box:
      return {{-1, -slant}, {1, -slant}, {1, slant}, {-1, slant}};
    case SceneShape::triangle:
      return {{0, -1}, {0.9, 0.8}, {-0.9, 0.8}};
    default:
      return {{0, -1}, {0.8, 0}, {0.3, 0}, {0.3, 1}, {-0.3, 1}, {-0.3, 0}, {-0.8, 0}};
  }
}

Outline placed(const Outline& outline, double turn, double side, ScenePoint corner) {
  Outline result;
  const double along = std::cos(2 * M_PI * turn), across = std::sin(2 * M_PI * turn);
  for (const ScenePoint& p : outline)
    result.push_back({along * p.x - across * p.y, across * p.x + along * p.y});
  const auto [x, y, width, height] = bounds_of(result);
  const double scale = side / std::max(width, height);
  const auto on_grid = [](double at) { return std::round(16 * at) / 16; };
  for (ScenePoint& p : result)
    p = {on_grid(corner.x + scale * (p.x - x)), on_grid(corner.y + scale * (p.y - y))};
  return result;
}

CocoBox bounds_of(const Outline& outline) {
  ScenePoint least = outline[0], most = outline[0];
  for (const ScenePoint& p : outline) {
    least = {std::min(least.x, p.x), std::min(least.y, p.y)};
    most = {std::max(most.x, p.x), std::max(most.y, p.y)};
  }
  return {least.x, least.y, most.x - least.x, most.y - least.y};
}

double area_of(const Outline& outline) {
  double twice = 0;
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const ScenePoint a = outline[i], b = outline[(i + 1) % outline.size()];
    twice += a.x * b.y - b.x * a.y;
  }
  return std::abs(twice) / 2;
}

bool contains(const Outline& outline, ScenePoint point) {
  const std::vector<double> at = crossings(outline, point.y);
  return std::count_if(at.begin(), at.end(), [&](double x) { return x <= point.x; }) % 2 == 1;
}

void fill(const Outline& outline, int64_t height, int64_t width,
          const std::function<void(int64_t row, int64_t first, int64_t last)>& paint) {
  const auto [x, y, wide, high] = bounds_of(outline);
  const auto within = [](double at, int64_t size) {
    return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(size)));
  };
  for (int64_t row = within(std::floor(y), height); row < within(std::ceil(y + high), height);
       ++row) {
    const std::vector<double> at = crossings(outline, static_cast<double>(row) + 0.5);
    for (std::size_t i = 0; i + 1 < at.size(); i += 2) {
      const int64_t first = within(std::ceil(at[i] - 0.5), width);
      const int64_t last = within(std::ceil(at[i + 1] - 0.5), width);
      if (first < last) paint(row, first, last);
    }
  }
}

}  // namespace lockstep
