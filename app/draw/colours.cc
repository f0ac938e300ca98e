// SPDX-License-Identifier: Apache-2.0
#include "app/draw/colours.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

// `turn` is the position on the circle of colours, from red.
Colour pure(double turn) {
  const auto part = [&](double from) {
    const double at = std::abs(std::remainder(turn - from, 1.0)) * 6;
    return std::clamp(2 - at, 0.0, 1.0);
  };
  return {part(0), part(1.0 / 3), part(2.0 / 3)};
}

}  // namespace

Colour class_colour(std::size_t label) {
  // Steps of the golden section keep successive hues far apart.
  constexpr double kFirst = 0.55, kGolden = 0.6180339887498949;
  constexpr std::array<double, 3> kWhite{0.15, 0.35, 0.05};
  const Colour colour = pure(kFirst + static_cast<double>(label % 1000) * kGolden);
  const double white = kWhite[label % kWhite.size()];
  // Pure blue is dark to the eye.
  const double more = std::max(white, 0.45 - lightness(colour));
  const auto mixed = [&](double part) { return part + (1 - part) * more; };
  return {mixed(colour.red), mixed(colour.green), mixed(colour.blue)};
}

double lightness(const Colour& colour) {
  return 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue;
}

Colour text_colour(const Colour& ground) {
  return lightness(ground) > 0.45 ? Colour{0, 0, 0} : Colour{1, 1, 1};
}

}  // namespace lockstep
