// SPDX-License-Identifier: Apache-2.0
#include "data/augment/geometry.h"

#include <cmath>
#include <vector>

namespace lockstep {
namespace {

// The source of the pixel (x, y): (xx * x + xy * y + x0, yx * x + yy * y + y0).
struct Source {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

int64_t fixed_point(double value) { return static_cast<int64_t>(std::floor(value * 65536 + 0.5)); }

void resample(const BytePicture& picture, const Source& from) {
  const int64_t height = picture.height, width = picture.width;
  const int64_t xx = fixed_point(from.xx), xy = fixed_point(from.xy);
  const int64_t yx = fixed_point(from.yx), yy = fixed_point(from.yy);
  // The centre of the first pixel.
  const int64_t x0 = fixed_point(from.x0 + from.xx * 0.5 + from.xy * 0.5);
  const int64_t y0 = fixed_point(from.y0 + from.yx * 0.5 + from.yy * 0.5);
  const std::vector<uint8_t> source(picture.bytes,
                                    picture.bytes + picture.channels * picture.plane());
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const int64_t column = (x0 + xx * x + xy * y) >> 16, row = (y0 + yx * x + yy * y) >> 16;
      const bool inside = column >= 0 && column < width && row >= 0 && row < height;
      for (int64_t c = 0; c < picture.channels; ++c)
        picture.channel(c)[y * width + x] =
            inside ? source[c * picture.plane() + row * width + column] : uint8_t{0};
    }
}

double to_15_digits(double value) { return std::nearbyint(value * 1e15) / 1e15; }

}  // namespace

void shear_across(const BytePicture& picture, double slope) { resample(picture, {.xy = slope}); }
void shear_down(const BytePicture& picture, double slope) { resample(picture, {.yx = slope}); }

void shift_across(const BytePicture& picture, int64_t pixels) {
  resample(picture, {.x0 = -static_cast<double>(pixels)});
}
void shift_down(const BytePicture& picture, int64_t pixels) {
  resample(picture, {.y0 = -static_cast<double>(pixels)});
}

void turn(const BytePicture& picture, double degrees) {
  constexpr double kRadian = 3.14159265358979323846 / 180;
  const double positive = degrees < 0 ? degrees + 360 : degrees;
  const double cosine = to_15_digits(std::cos(-positive * kRadian));
  const double sine = to_15_digits(std::sin(-positive * kRadian));
  const double x = static_cast<double>(picture.width) / 2;
  const double y = static_cast<double>(picture.height) / 2;
  resample(picture, {.xx = cosine,
                     .xy = sine,
                     .x0 = cosine * -x + sine * -y + x,
                     .yx = -sine,
                     .yy = cosine,
                     .y0 = -sine * -x + cosine * -y + y});
}

}  // namespace lockstep
