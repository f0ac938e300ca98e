// SPDX-License-Identifier: Apache-2.0
// Plain pictures to draw on, and their pixels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "app/draw/colours.h"
#include "data/image.h"

namespace lockstep::testing {

inline Image plain_image(int64_t height, int64_t width, uint8_t level = 128) {
  return {height, width, std::vector<uint8_t>(static_cast<std::size_t>(3 * height * width), level)};
}

inline std::array<uint8_t, 3> pixel(const Image& image, int64_t y, int64_t x) {
  const uint8_t* at = &image.rgb[static_cast<std::size_t>(3 * (y * image.width + x))];
  return {at[0], at[1], at[2]};
}

inline std::array<uint8_t, 3> grey(uint8_t level) { return {level, level, level}; }

// The distance of a pixel from the colour of a class.
inline double distance(const std::array<uint8_t, 3>& pixel, std::size_t label) {
  const Colour colour = class_colour(label);
  return std::abs(pixel[0] / 255.0 - colour.red) + std::abs(pixel[1] / 255.0 - colour.green) +
         std::abs(pixel[2] / 255.0 - colour.blue);
}

// The smallest distance from a class's colour around a place.
inline double nearest(const Image& image, int64_t y, int64_t x, std::size_t label,
                      int64_t around = 1) {
  double best = 9;
  for (int64_t dy = -around; dy <= around; ++dy)
    for (int64_t dx = -around; dx <= around; ++dx)
      best = std::min(best, distance(pixel(image, y + dy, x + dx), label));
  return best;
}

}  // namespace lockstep::testing
