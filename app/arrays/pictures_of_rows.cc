// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/pictures_of_rows.h"

#include <algorithm>
#include <cmath>

#include "app/arrays/elements.h"
#include "app/draw/masks.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

int64_t from_end(const Tensor& row, std::size_t axis) {
  const Dims& dims = row.desc.dims;
  check(axis <= dims.size(), "internal: ", row.desc.dims, " has no picture");
  return dims[dims.size() - axis];
}

PngValues empty_mask(const Tensor& row) {
  const int64_t height = from_end(row, 2), width = from_end(row, 1);
  return {height, width, std::vector<uint8_t>(static_cast<std::size_t>(height * width))};
}

// `light`: from a channel and a number to a value from 0 to 1.
template <class Light>
Image drawn_row(const Tensor& row, const Light& light) {
  const int64_t channels = from_end(row, 3), height = from_end(row, 2), width = from_end(row, 1);
  const int64_t pixels = height * width;
  Image image{height, width, std::vector<uint8_t>(static_cast<std::size_t>(3 * pixels))};
  const float* values = row.as<const float>();
  for (int64_t at = 0; at < pixels; ++at)
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t from = std::min(c, channels - 1);
      const double value = light(from, values[from * pixels + at]);
      image.rgb[3 * at + c] = static_cast<uint8_t>(
          std::isnan(value) ? 0 : std::lround(255 * std::clamp(value, 0., 1.)));
    }
  return image;
}

}  // namespace

PngValues mask_of_scores(const Tensor& row, double above) {
  PngValues mask = empty_mask(row);
  const int64_t classes = from_end(row, 3), pixels = mask.height * mask.width;
  check(classes <= kNoClass, "a mask of ", classes, " classes; ", int64_t{kNoClass},
        " are the most that a picture shows");
  const float* scores = row.as<const float>();
  for (int64_t at = 0; at < pixels; ++at) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (scores[c * pixels + at] > scores[best * pixels + at]) best = c;
    if (classes == 1) best = scores[at] > above ? 1 : 0;
    mask.values[at] = static_cast<uint8_t>(best);
  }
  return mask;
}

PngValues mask_of_labels(const Tensor& row, int64_t ignore) {
  PngValues mask = empty_mask(row);
  for (std::size_t at = 0; at < mask.values.size(); ++at) {
    const double label = element(row, static_cast<int64_t>(at));
    const bool is_class = label >= 0 && label < kNoClass && label != static_cast<double>(ignore);
    mask.values[at] = is_class ? static_cast<uint8_t>(label) : kNoClass;
  }
  return mask;
}

LightRange range_of(const Tensor& row) {
  LightRange range{INFINITY, -INFINITY};
  for (int64_t i = 0; i < row.count(); ++i) {
    const double value = row.as<const float>()[i];
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low < range.high ? range : LightRange{range.low - 0.5, range.low + 0.5};
}

Image picture_in(const Tensor& row, const LightRange& range) {
  return drawn_row(
      row, [&](int64_t, double value) { return (value - range.low) / (range.high - range.low); });
}

Image picture_in(const Tensor& row, const Preparation& made) {
  check(from_end(row, 3) <= made.channels, "internal: a picture of ", row.desc.dims);
  return drawn_row(row, [&](int64_t c, double value) {
    return static_cast<double>(made.light(c, static_cast<float>(value)));
  });
}

}  // namespace lockstep
