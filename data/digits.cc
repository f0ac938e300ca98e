// SPDX-License-Identifier: Apache-2.0
#include "data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/streams.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr int kSide = 28;

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;

// An arc of an ellipse. Angles are in turns, clockwise from the right (y points down).
Stroke arc(Point centre, double rx, double ry, double from, double to) {
  Stroke stroke;
  const int pieces = std::max(2, static_cast<int>(std::abs(to - from) * 16));
  for (int i = 0; i <= pieces; ++i) {
    double angle = 2 * M_PI * (from + (to - from) * i / pieces);
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

// The ten digits in a box from (-0.5, -1) to (0.5, 1).
std::vector<Stroke> strokes_of(int digit) {
  switch (digit) {
    case 0:
      return {arc({0, 0}, 0.5, 0.95, 0, 1)};
    case 1:
      return {{{-0.25, -0.6}, {0.05, -0.95}, {0.05, 0.95}}};
    case 2:
      return {arc({0, -0.45}, 0.45, 0.5, 0.5, 1.1), {{0.36, -0.15}, {-0.45, 0.95}, {0.5, 0.95}}};
    case 3:
      return {arc({-0.05, -0.48}, 0.45, 0.47, 0.6, 1.25), arc({-0.05, 0.47}, 0.5, 0.48, 0.75, 1.4)};
    case 4:
      return {{{0.25, 0.95}, {0.25, -0.95}, {-0.5, 0.35}, {0.5, 0.35}}};
    case 5:
      return {{{0.42, -0.95}, {-0.38, -0.95}, {-0.42, -0.1}},
              arc({-0.02, 0.35}, 0.48, 0.58, 0.62, 1.4)};
    case 6:
      return {{{0.3, -0.95}, {-0.25, -0.35}, {-0.47, 0.4}}, arc({0, 0.42}, 0.47, 0.53, 0, 1)};
    case 7:
      return {{{-0.48, -0.95}, {0.48, -0.95}, {-0.1, 0.95}}};
    case 8:
      return {arc({0, -0.48}, 0.4, 0.46, 0, 1), arc({0, 0.47}, 0.48, 0.49, 0, 1)};
    default:
      return {arc({0, -0.42}, 0.45, 0.52, 0, 1), {{0.45, -0.4}, {0.38, 0.3}, {0.0, 0.95}}};
  }
}

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  double t = length == 0 ? 0 : ((p.x - a.x) * dx + (p.y - a.y) * dy) / length;
  t = std::clamp(t, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// The path of the pen, in pixels.
std::vector<Stroke> handwriting(int digit, PhiloxSequence& random) {
  const double turn = random.uniform(-0.35, 0.35), slant = random.uniform(-0.4, 0.4);
  const double height = random.uniform(6, 10.5), width = random.uniform(6, 11);
  const Point centre{kSide / 2.0 + random.uniform(-2.2, 2.2),
                     kSide / 2.0 + random.uniform(-2.2, 2.2)};
  std::vector<Stroke> strokes = strokes_of(digit);
  for (Stroke& stroke : strokes)
    for (Point& point : stroke) {
      double x = (point.x + 0.04 * random.normal() - slant * point.y) * width;
      double y = (point.y + 0.03 * random.normal()) * height;
      point = {centre.x + std::cos(turn) * x - std::sin(turn) * y,
               centre.y + std::sin(turn) * x + std::cos(turn) * y};
    }
  return strokes;
}

void draw(int digit, PhiloxSequence& random, uint8_t* pixels) {
  const std::vector<Stroke> strokes = handwriting(digit, random);
  const double pen = random.uniform(0.9, 1.7), ink = random.uniform(0.75, 1.0);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      double nearest = kSide;
      for (const Stroke& stroke : strokes)
        for (std::size_t i = 0; i + 1 < stroke.size(); ++i)
          nearest =
              std::min(nearest, distance_to_segment({x + 0.5, y + 0.5}, stroke[i], stroke[i + 1]));
      double value = ink * std::clamp(pen + 0.5 - nearest, 0.0, 1.0) + 0.2 * random.normal();
      pixels[y * kSide + x] = static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
    }
}

}  // namespace

// Normalises to a mean of about 0 and a deviation of about 1.
Preparation digits_preparation(const DatasetOptions&) {
  return {1, kSide, kSide, kSide, {0.15F}, {0.3F}};
}

DigitImages::DigitImages(const DatasetOptions& options) : Dataset(digits_preparation(options)) {
  check(options.size > 0, "the data set has ", options.size, " images, should have at least 1");
  pixels_.resize(options.size * kSide * kSide);
  labels_.resize(options.size);
  const uint64_t stream = options.held_out ? streams::kHeldOutDigits : streams::kDigits;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    PhiloxSequence random(options.seed, stream + i);
    labels_[i] = static_cast<uint8_t>(random.below(10));
    draw(labels_[i], random, pixels_.data() + i * kSide * kSide);
  }
}

void DigitImages::read_bytes(int64_t index, uint64_t, uint8_t* image, int64_t* label) const {
  std::copy_n(pixels_.data() + index * kSide * kSide, kSide * kSide, image);
  *label = labels_[index];
}

}  // namespace lockstep
