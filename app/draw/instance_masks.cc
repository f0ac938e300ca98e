// SPDX-License-Identifier: Apache-2.0
#include "app/draw/instance_masks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/colours.h"
#include "data/coco/masks.h"
#include "data/coco/rle.h"
#include "lockstep/error.h"
#include "runtime/masks/runs.h"

namespace lockstep {
namespace {

constexpr double kFilled = 0.4;

// Calls visit(first, last) for the mask's runs of pixels [first, last), column by column.
template <class Visit>
void for_each_run(const RunLengths& mask, const Visit& visit) {
  int64_t at = 0;
  for (std::size_t i = 0; i < mask.counts.size(); ++i) {
    if (i % 2 == 1) visit(at, at + mask.counts[i]);
    at += mask.counts[i];
  }
}

void check_fits(const RunLengths& mask, const Image& image) {
  check(mask.height == image.height && mask.width == image.width, "a mask of ", mask.width, " x ",
        mask.height, " pixels cannot be drawn on a picture of ", image.width, " x ", image.height);
  check_run_lengths(mask);
  check(static_cast<int64_t>(image.rgb.size()) == 3 * image.height * image.width, "a picture of ",
        image.width, " x ", image.height, " pixels has ", image.rgb.size(), " bytes");
}

std::array<double, 3> levels_of(std::size_t label) {
  const Colour colour = class_colour(label);
  return {255 * colour.red, 255 * colour.green, 255 * colour.blue};
}

}  // namespace

RunLengths cut_mask(const RunLengths& mask, const MaskPart& part) {
  check(part.top >= 0 && part.left >= 0 && part.height >= 0 && part.width >= 0 &&
            part.top + part.height <= mask.height && part.left + part.width <= mask.width,
        "a mask of ", mask.width, " x ", mask.height, " pixels has no part of ", part.width, " x ",
        part.height, " at ", part.left, ", ", part.top);
  check_run_lengths(mask);
  RunWriter result;
  std::size_t run = 0;
  int64_t end = mask.counts.empty() ? 0 : mask.counts[0];  // of the run
  for (int64_t column = part.left; column < part.left + part.width; ++column) {
    int64_t at = column * mask.height + part.top;
    const int64_t bottom = at + part.height;
    while (at < bottom) {
      while (end <= at) end += mask.counts[++run];
      const int64_t stop = std::min(end, bottom);
      result.add(run % 2 == 1, static_cast<uint32_t>(stop - at));
      at = stop;
    }
  }
  return {part.height, part.width, std::move(result.runs)};
}

RunLengths shrunk_mask(const RunLengths& mask, int64_t times) {
  check(times > 0, "a mask cannot be scaled ", times, " times");
  check_run_lengths(mask);
  const int64_t height = (mask.height + times - 1) / times;
  const int64_t width = (mask.width + times - 1) / times;
  std::vector<int64_t> set(height * width);
  for_each_run(mask, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last; ++at)
      ++set[at % mask.height / times * width + at / mask.height / times];
  });
  std::vector<uint8_t> bitmap(set.size());
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      // Squares at the right and lower border are smaller.
      const int64_t square =
          std::min(times, mask.height - y * times) * std::min(times, mask.width - x * times);
      bitmap[y * width + x] = 2 * set[y * width + x] >= square ? 1 : 0;
    }
  return mask_of_bitmap(bitmap, height, width);
}

void fill_masks(Image& image, std::span<const DrawnBox> boxes) {
  std::vector<int32_t> on_top;  // number of a box + 1 for each pixel, column by column
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const RunLengths& mask = boxes[i].mask;
    if (!has_mask(boxes[i])) continue;
    check_fits(mask, image);
    if (!boxes[i].filled) continue;
    on_top.resize(image.height * image.width);
    for_each_run(mask, [&](int64_t first, int64_t last) {
      std::fill(on_top.begin() + first, on_top.begin() + last, static_cast<int32_t>(i) + 1);
    });
  }
  if (on_top.empty()) return;
  std::vector<std::array<double, 3>> colours;
  for (const DrawnBox& box : boxes) colours.push_back(levels_of(box.colour));
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const int32_t box = on_top[x * image.height + y];
      if (box == 0) continue;
      for (std::size_t k = 0; k < 3; ++k) {
        uint8_t& level = image.rgb[3 * (y * image.width + x) + static_cast<int64_t>(k)];
        level = static_cast<uint8_t>(
            std::lround((1 - kFilled) * level + kFilled * colours[box - 1][k]));
      }
    }
}

}  // namespace lockstep
