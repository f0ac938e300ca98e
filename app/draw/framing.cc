// SPDX-License-Identifier: Apache-2.0
#include "app/draw/framing.h"

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/instance_masks.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void check_picture(const Image& image, int64_t times) {
  check(image.height > 0 && image.width > 0 &&
            static_cast<int64_t>(image.rgb.size()) == 3 * image.height * image.width,
        "a picture of ", image.width, " x ", image.height, " pixels has ", image.rgb.size(),
        " bytes, not three for each pixel");
  check(times > 0, "a picture cannot be scaled ", times, " times");
}

std::size_t byte_of(const Image& image, int64_t y, int64_t x) { return 3 * (y * image.width + x); }

Image empty_image(int64_t height, int64_t width) {
  return {height, width, std::vector<uint8_t>(3 * height * width)};
}

// Writes the mean of a square of `side`, clipped to the image.
void write_mean(const Image& image, int64_t top, int64_t left, int64_t side, uint8_t* to) {
  const int64_t bottom = std::min(top + side, image.height);
  const int64_t right = std::min(left + side, image.width);
  const int64_t count = (bottom - top) * (right - left);
  for (int64_t k = 0; k < 3; ++k) {
    int64_t sum = 0;
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) sum += image.rgb[byte_of(image, y, x) + k];
    to[k] = static_cast<uint8_t>((sum + count / 2) / count);
  }
}

struct Extent {
  int64_t from = 0, to = 0;
};

// The range along one side of a picture.
Extent around_box(double low, double high, double margin, int64_t size) {
  const double most = static_cast<double>(size);
  return {static_cast<int64_t>(std::floor(std::clamp(low - margin, 0.0, most))),
          static_cast<int64_t>(std::ceil(std::clamp(high + margin, 0.0, most)))};
}

}  // namespace

Image enlarged(const Image& image, int64_t times) {
  check_picture(image, times);
  if (times == 1) return image;
  check(times <= kMostDrawnSide / std::max(image.height, image.width), "a picture of ", image.width,
        " x ", image.height, " pixels cannot be enlarged ", times, " times: sides have at most ",
        kMostDrawnSide, " pixels");
  Image large = empty_image(image.height * times, image.width * times);
  for (int64_t y = 0; y < large.height; ++y)
    for (int64_t x = 0; x < large.width; ++x)
      std::copy_n(&image.rgb[byte_of(image, y / times, x / times)], 3,
                  &large.rgb[byte_of(large, y, x)]);
  return large;
}

Image shrunk(const Image& image, int64_t times) {
  check_picture(image, times);
  if (times == 1) return image;
  Image small = empty_image((image.height + times - 1) / times, (image.width + times - 1) / times);
  for (int64_t y = 0; y < small.height; ++y)
    for (int64_t x = 0; x < small.width; ++x)
      write_mean(image, y * times, x * times, times, &small.rgb[byte_of(small, y, x)]);
  return small;
}

int64_t times_within(const Image& image, int64_t side) {
  return std::max<int64_t>(1, side / std::max<int64_t>({1, image.height, image.width}));
}

DrawnPicture fitted(const DrawnPicture& picture, int64_t side) {
  check(side > 0, "a picture cannot be fitted into ", side, " pixels");
  const int64_t longest = std::max(picture.image.height, picture.image.width);
  const int64_t times = std::max<int64_t>(1, (longest + side - 1) / side);
  DrawnPicture small{shrunk(picture.image, times), picture.boxes};
  const auto divisor = static_cast<float>(times);
  for (DrawnBox& box : small.boxes) {
    for (float& corner : box.corners) corner /= divisor;
    for (DrawnPoint& point : box.points) point = {point.x / divisor, point.y / divisor, point.mark};
    if (has_mask(box)) box.mask = shrunk_mask(box.mask, times);
  }
  return small;
}

DrawnPicture cut_out(const DrawnPicture& picture, const Corners& around) {
  check_picture(picture.image, 1);
  if (!std::all_of(around.begin(), around.end(), [](float each) { return std::isfinite(each); }))
    return picture;
  constexpr double kShare = 0.4, kPixels = 8;
  const double margin =
      kPixels + kShare * std::max({0.0F, around[2] - around[0], around[3] - around[1]});
  const Extent across = around_box(around[0], around[2], margin, picture.image.width);
  const Extent down = around_box(around[1], around[3], margin, picture.image.height);
  if (across.from >= across.to || down.from >= down.to) return picture;

  DrawnPicture part{empty_image(down.to - down.from, across.to - across.from), picture.boxes};
  for (int64_t y = 0; y < part.image.height; ++y)
    std::copy_n(&picture.image.rgb[byte_of(picture.image, down.from + y, across.from)],
                3 * part.image.width, &part.image.rgb[byte_of(part.image, y, 0)]);
  const auto left = static_cast<float>(across.from), top = static_cast<float>(down.from);
  for (DrawnBox& box : part.boxes) {
    for (std::size_t k = 0; k < 4; ++k) box.corners[k] -= k % 2 == 0 ? left : top;
    for (DrawnPoint& point : box.points) point = {point.x - left, point.y - top, point.mark};
    if (has_mask(box))
      box.mask = cut_mask(box.mask, {down.from, across.from, part.image.height, part.image.width});
  }
  return part;
}

}  // namespace lockstep
