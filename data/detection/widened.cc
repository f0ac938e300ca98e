// SPDX-License-Identifier: Apache-2.0
#include "data/detection/widened.h"

#include <algorithm>
#include <cmath>

#include "data/detection/between.h"
#include "lockstep/error.h"

namespace lockstep {

Image widened(const Image& image, int64_t width) {
  check(width > 0 && image.width > 0, "a picture ", image.width, " pixels wide cannot become ",
        width, " pixels wide");
  const double step = static_cast<double>(image.width) / static_cast<double>(width);
  const std::vector<Between> columns =
      positions_between(image.width, width, [step](double centre) { return centre * step; });
  Image result{image.height, width,
               std::vector<uint8_t>(static_cast<std::size_t>(3 * image.height * width))};
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* row = &image.rgb[3 * y * image.width];
    uint8_t* out = &result.rgb[3 * y * width];
    for (const Between& at : columns)
      for (int64_t c = 0; c < 3; ++c) {
        const auto a = static_cast<float>(row[3 * at.first + c]),
                   b = static_cast<float>(row[3 * at.second + c]);
        *out++ = static_cast<uint8_t>(std::lrint(a + at.share * (b - a)));
      }
  }
  return result;
}

}  // namespace lockstep
