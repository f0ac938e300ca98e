// SPDX-License-Identifier: Apache-2.0
#include "data/detection/picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/detection/between.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<Between> places(int64_t before, int64_t after, double scale) {
  return positions_between(before, after, [scale](double centre) { return centre / scale; });
}

void mirror(std::vector<Between>& columns, int64_t width) {
  for (Between& column : columns)
    column = {width - 1 - column.first, width - 1 - column.second, column.share};
}

void keep(std::vector<Between>& table, int64_t first, int64_t count) {
  table.erase(table.begin(), table.begin() + first);
  table.resize(count);
}

// Rows of the picture, interpolated horizontally: blue, then green, then red. Keeps the last two
// rows, because neighbouring rows of the result are often between the same two rows.
class Rows {
 public:
  Rows(const Image& image, std::vector<Between> columns)
      : image_(image), columns_(std::move(columns)) {}

  const float* row(int64_t number) {
    Kept& kept = kept_[number % 2];
    if (kept.number != number) interpolate(number, kept);
    return kept.values.data();
  }

 private:
  struct Kept {
    int64_t number = -1;
    std::vector<float> values;
  };

  void interpolate(int64_t number, Kept& kept) {
    kept.number = number;
    const std::size_t width = columns_.size();
    kept.values.resize(3 * width);
    const uint8_t* pixels = &image_.rgb[number * image_.width * 3];
    for (std::size_t x = 0; x < width; ++x) {
      const Between& at = columns_[x];
      const uint8_t *a = pixels + 3 * at.first, *b = pixels + 3 * at.second;
      for (std::size_t c = 0; c < 3; ++c) {
        const auto from = static_cast<float>(a[2 - c]), to = static_cast<float>(b[2 - c]);
        kept.values[c * width + x] = from + at.share * (to - from);
      }
    }
  }

  const Image& image_;
  std::vector<Between> columns_;
  std::array<Kept, 2> kept_;
};

}  // namespace

PictureScale scale_to(int64_t height, int64_t width, int64_t target, int64_t most) {
  const auto shorter = static_cast<double>(std::min(height, width));
  const auto longer = static_cast<double>(std::max(height, width));
  double scale = static_cast<double>(target) / shorter;
  if (std::round(scale * longer) > static_cast<double>(most))
    scale = static_cast<double>(most) / longer;
  const auto scaled = [&](int64_t size) {
    return std::max<int64_t>(1, std::lrint(static_cast<double>(size) * scale));
  };
  return {scale, scaled(height), scaled(width)};
}

int64_t padded(int64_t size, int64_t stride) { return (size + stride - 1) / stride * stride; }

void write_picture(const Image& image, const PictureScale& scale, const PictureRules& rules,
                   const PictureTensor& to) {
  PictureCrop crop = rules.crop;
  if (crop.height == 0) crop = {0, 0, scale.height, scale.width};
  check(crop.height <= to.height && crop.width <= to.width, "a picture scaled to ", crop.height,
        " x ", crop.width, " does not fit into ", to.height, " x ", to.width);
  check(crop.top >= 0 && crop.left >= 0 && crop.top + crop.height <= scale.height &&
            crop.left + crop.width <= scale.width,
        "a picture scaled to ", scale.height, " x ", scale.width, " has no part of ", crop.height,
        " x ", crop.width, " at ", crop.top, ", ", crop.left);
  std::vector<Between> lines = places(image.height, scale.height, scale.scale);
  keep(lines, crop.top, crop.height);
  std::vector<Between> columns = places(image.width, scale.width, scale.scale);
  if (rules.mirrored) mirror(columns, image.width);
  keep(columns, crop.left, crop.width);
  Rows rows(image, std::move(columns));
  for (int64_t y = 0; y < crop.height; ++y) {
    const Between& at = lines[y];
    const float *above = rows.row(at.first), *below = rows.row(at.second);
    for (int64_t c = 0; c < 3; ++c) {
      const float mean = rules.means[c], share = at.share;
      const float *a = above + c * crop.width, *b = below + c * crop.width;
      float* out = to.data + (c * to.height + y) * to.width;
      for (int64_t x = 0; x < crop.width; ++x) out[x] = a[x] + share * (b[x] - a[x]) - mean;
      std::fill(out + crop.width, out + to.width, 0.0F);
    }
  }
  for (int64_t c = 0; c < 3; ++c)
    std::fill(to.data + (c * to.height + crop.height) * to.width,
              to.data + (c + 1) * to.height * to.width, 0.0F);
}

}  // namespace lockstep
