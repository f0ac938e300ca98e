// SPDX-License-Identifier: Apache-2.0
#include "app/draw/masks.h"

#include <cmath>

#include "app/draw/colours.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kOpacity = 0.55;
constexpr uint8_t kPale = 224;

uint8_t byte_of_part(double part) { return static_cast<uint8_t>(std::lround(255 * part)); }

}  // namespace

std::array<uint8_t, 3 * 256> mask_palette() {
  std::array<uint8_t, 3 * 256> palette{};
  for (std::size_t label = 1; label < 256; ++label) {
    const Colour colour = class_colour(label);
    palette[3 * label] = byte_of_part(colour.red);
    palette[3 * label + 1] = byte_of_part(colour.green);
    palette[3 * label + 2] = byte_of_part(colour.blue);
  }
  for (std::size_t c = 0; c < 3; ++c) palette[3 * kNoClass + c] = kPale;
  return palette;
}

Image overlaid(const Image& picture, const PngValues& mask) {
  check(picture.height == mask.height && picture.width == mask.width, "a mask of ", mask.width,
        " x ", mask.height, " pixels cannot lie over a picture of ", picture.width, " x ",
        picture.height);
  const std::array<uint8_t, 3 * 256> palette = mask_palette();
  Image result = picture;
  for (std::size_t at = 0; at < mask.values.size(); ++at) {
    const std::size_t label = mask.values[at];
    if (label == 0) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      uint8_t& value = result.rgb[3 * at + c];
      value = static_cast<uint8_t>(
          std::lround((1 - kOpacity) * value + kOpacity * palette[3 * label + c]));
    }
  }
  return result;
}

PngValues resized_mask(const PngValues& mask, int64_t height, int64_t width) {
  check(mask.height > 0 && mask.width > 0, "an empty mask cannot be resized");
  PngValues result{height, width, std::vector<uint8_t>(static_cast<std::size_t>(height * width))};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      result.values[y * width + x] =
          mask.values[(2 * y + 1) * mask.height / (2 * height) * mask.width +
                      (2 * x + 1) * mask.width / (2 * width)];
  return result;
}

}  // namespace lockstep
