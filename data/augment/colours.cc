// SPDX-License-Identifier: Apache-2.0
#include "data/augment/colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

using Table = std::array<uint8_t, 256>;

uint8_t limited(double value) {
  return value <= 0 ? 0 : value >= 255 ? 255 : static_cast<uint8_t>(value);
}

// From `base` to `value` and beyond, truncated: factor 0 gives the base, 1 the value.
uint8_t blend(int base, int value, float factor) {
  const float mixed = static_cast<float>(base) + factor * static_cast<float>(value - base);
  return limited(mixed);
}

// Luminance in 16-bit fixed point.
int grey_of(const BytePicture& picture, int64_t place) {
  if (picture.channels == 1) return picture.bytes[place];
  const int64_t plane = picture.plane();
  const int red = picture.bytes[place], green = picture.bytes[place + plane],
            blue = picture.bytes[place + 2 * plane];
  return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}

void look_up(const BytePicture& picture, int64_t channel, const Table& table) {
  uint8_t* const bytes = picture.channel(channel);
  for (int64_t i = 0; i < picture.plane(); ++i) bytes[i] = table[bytes[i]];
}

std::array<int64_t, 256> histogram_of(const BytePicture& picture, int64_t channel) {
  std::array<int64_t, 256> counts{};
  const uint8_t* const bytes = picture.channel(channel);
  for (int64_t i = 0; i < picture.plane(); ++i) ++counts[bytes[i]];
  return counts;
}

template <class Mapping>
void map_bytes(const BytePicture& picture, const Mapping& mapping) {
  Table table{};
  for (int value = 0; value < 256; ++value) table[value] = mapping(value);
  for (int64_t c = 0; c < picture.channels; ++c) look_up(picture, c, table);
}

// A weight of 5 for the pixel and 1 for each neighbour, rounded; the border stays.
std::vector<uint8_t> smoothed(const uint8_t* bytes, int64_t height, int64_t width) {
  std::vector<uint8_t> result(bytes, bytes + height * width);
  for (int64_t y = 1; y + 1 < height; ++y)
    for (int64_t x = 1; x + 1 < width; ++x) {
      const int64_t place = y * width + x;
      int sum = 4 * bytes[place];
      for (int64_t row = -1; row <= 1; ++row)
        for (int64_t column = -1; column <= 1; ++column) sum += bytes[place + row * width + column];
      result[place] = static_cast<uint8_t>((2 * sum + 13) / 26);
    }
  return result;
}

struct Hsv {
  int hue, saturation, value;
};

// The mixture of float and double, and the truncations, are PIL's.
Hsv hsv_of(int red, int green, int blue) {
  const int most = std::max({red, green, blue}), least = std::min({red, green, blue});
  if (most == least) return {0, 0, most};
  const float range = static_cast<float>(most - least);
  const float saturation = range / static_cast<float>(most);
  const float r = static_cast<float>(most - red) / range;
  const float g = static_cast<float>(most - green) / range;
  const float b = static_cast<float>(most - blue) / range;
  float hue = 0;
  if (red == most)
    hue = b - g;
  else if (green == most)
    hue = static_cast<float>(2.0 + r - b);
  else
    hue = static_cast<float>(4.0 + g - r);
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  return {limited(hue * 255.0), limited(saturation * 255.0), most};
}

std::array<uint8_t, 3> rgb_of(const Hsv& hsv) {
  const auto value = static_cast<uint8_t>(hsv.value);
  if (hsv.saturation == 0) return {value, value, value};
  const float hue = static_cast<float>(hsv.hue) * 6.0F / 255.0F;
  const float saturation = static_cast<float>(hsv.saturation) / 255.0F;
  const int sector = static_cast<int>(std::floor(hue));
  const float part = hue - static_cast<float>(sector), light = static_cast<float>(hsv.value);
  const uint8_t p = limited(std::round(light * (1.0 - saturation)));
  const uint8_t q = limited(std::round(light * (1.0 - saturation * part)));
  const uint8_t t = limited(std::round(light * (1.0 - saturation * (1.0 - part))));
  switch (sector % 6) {
    case 0:
      return {value, t, p};
    case 1:
      return {q, value, p};
    case 2:
      return {p, value, t};
    case 3:
      return {p, q, value};
    case 4:
      return {t, p, value};
    default:
      return {value, p, q};
  }
}

}  // namespace

void adjust_brightness(const BytePicture& picture, double factor) {
  map_bytes(picture, [by = static_cast<float>(factor)](int value) { return blend(0, value, by); });
}

void adjust_contrast(const BytePicture& picture, double factor) {
  int64_t sum = 0;
  for (int64_t i = 0; i < picture.plane(); ++i) sum += grey_of(picture, i);
  const int mean =
      static_cast<int>(static_cast<double>(sum) / static_cast<double>(picture.plane()) + 0.5);
  map_bytes(picture,
            [mean, by = static_cast<float>(factor)](int value) { return blend(mean, value, by); });
}

void adjust_saturation(const BytePicture& picture, double factor) {
  const float by = static_cast<float>(factor);
  for (int64_t i = 0; i < picture.plane(); ++i) {
    const int grey = grey_of(picture, i);
    for (int64_t c = 0; c < picture.channels; ++c) {
      uint8_t& byte = picture.channel(c)[i];
      byte = blend(grey, byte, by);
    }
  }
}

void adjust_sharpness(const BytePicture& picture, double factor) {
  const float by = static_cast<float>(factor);
  for (int64_t c = 0; c < picture.channels; ++c) {
    uint8_t* const bytes = picture.channel(c);
    const std::vector<uint8_t> base = smoothed(bytes, picture.height, picture.width);
    for (int64_t i = 0; i < picture.plane(); ++i) bytes[i] = blend(base[i], bytes[i], by);
  }
}

void adjust_hue(const BytePicture& picture, double turn) {
  if (picture.channels != 3) return;
  const int steps = static_cast<int>(turn * 255);  // a byte of hue wraps around
  const int64_t plane = picture.plane();
  for (int64_t i = 0; i < plane; ++i) {
    uint8_t* const pixel = picture.bytes + i;
    Hsv hsv = hsv_of(pixel[0], pixel[plane], pixel[2 * plane]);
    hsv.hue = (hsv.hue + steps) & 255;
    const std::array<uint8_t, 3> rgb = rgb_of(hsv);
    for (int64_t c = 0; c < 3; ++c) pixel[c * plane] = rgb[c];
  }
}

void posterize(const BytePicture& picture, int bits) {
  const int mask = 0xFF & ~((1 << (8 - bits)) - 1);
  map_bytes(picture, [mask](int value) { return static_cast<uint8_t>(value & mask); });
}

void solarize(const BytePicture& picture, double threshold) {
  map_bytes(picture, [threshold](int value) {
    return static_cast<uint8_t>(value < threshold ? value : 255 - value);
  });
}

void autocontrast(const BytePicture& picture) {
  for (int64_t c = 0; c < picture.channels; ++c) {
    const uint8_t* const bytes = picture.channel(c);
    const auto [least, most] = std::minmax_element(bytes, bytes + picture.plane());
    const int low = *least, high = *most;
    if (high <= low) continue;
    const double factor = 255.0 / (high - low), offset = -low * factor;
    Table table{};
    for (int value = 0; value < 256; ++value) {
      const double stretched = value * factor;
      table[value] = limited(stretched + offset);
    }
    look_up(picture, c, table);
  }
}

void equalize(const BytePicture& picture) {
  for (int64_t c = 0; c < picture.channels; ++c) {
    const std::array<int64_t, 256> counts = histogram_of(picture, c);
    int last = 255;
    while (last > 0 && counts[last] == 0) --last;
    const int64_t step = (picture.plane() - counts[last]) / 255;
    if (step == 0) continue;
    Table table{};
    int64_t before = step / 2;
    for (int value = 0; value < 256; ++value) {
      table[value] = static_cast<uint8_t>(std::min<int64_t>(before / step, 255));
      before += counts[value];
    }
    look_up(picture, c, table);
  }
}

}  // namespace lockstep
