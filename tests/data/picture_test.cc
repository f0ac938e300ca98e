// SPDX-License-Identifier: Apache-2.0
// Pictures in the form that a detector reads. Expected scales and boxes are Detectron's
// (picture_cases.json); tests/python/check_picture.py compares pixels with PyTorch's.
#include "data/detection/picture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "data/coco/boxes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

const nlohmann::json& cases() {
  static const nlohmann::json all =
      nlohmann::json::parse(std::ifstream(LOCKSTEP_SOURCE_DIR "/tests/data/picture_cases.json"));
  return all;
}

Corners corners_of(const nlohmann::json& box) {
  return {box.at(0).get<float>(), box.at(1).get<float>(), box.at(2).get<float>(),
          box.at(3).get<float>()};
}

void expect_near(const Corners& a, const Corners& b) {
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(a[k], b[k], 1e-4 * std::max(1.0F, std::abs(b[k])));
}

TEST(Picture, IsScaledAsDetectronDoes) {
  for (const auto& c : cases().at("image_scales")) {
    const PictureScale scale =
        scale_to(c.at("image").at(0), c.at("image").at(1), c.at("target"), c.at("max_size"));
    EXPECT_NEAR(scale.scale, c.at("scale").get<double>(), 1e-7);
    EXPECT_EQ(scale.height, c.at("resized").at(0));
    EXPECT_EQ(scale.width, c.at("resized").at(1));
    EXPECT_EQ(padded(scale.height, 32), c.at("padded_32").at(0));
    EXPECT_EQ(padded(scale.width, 32), c.at("padded_32").at(1));
  }
}

// Detectron's boxes include their last pixel.
TEST(Picture, BoxesAreMirroredAsDetectronDoes) {
  const auto& c = cases().at("flip_boxes");
  for (std::size_t i = 0; i < c.at("boxes").size(); ++i) {
    Corners box = corners_of(c.at("boxes")[i]), wanted = corners_of(c.at("flipped")[i]);
    for (std::size_t k : {2, 3}) {
      box[k] += 1;
      wanted[k] += 1;
    }
    expect_near(mirrored(box, c.at("width")), wanted);
  }
}

TEST(Picture, BoxesAreExpandedAsDetectronDoes) {
  const auto& c = cases().at("expand_boxes");
  for (std::size_t i = 0; i < c.at("boxes").size(); ++i)
    expect_near(expanded(corners_of(c.at("boxes")[i]), c.at("scale")),
                corners_of(c.at("expanded")[i]));
}

Image ramp(int64_t height, int64_t width) {
  Image image{height, width, {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c)
        image.rgb.push_back(static_cast<uint8_t>(10 * x + 3 * y + 50 * c));
  return image;
}

TEST(Picture, IsBlueFirstLessTheMeansAndPadded) {
  const Image image = ramp(3, 5);
  std::vector<float> data(3 * 4 * 8, -1);
  write_picture(image, {1, 3, 5}, {{1, 2, 3}}, {data.data(), 4, 8});
  const auto at = [&](int64_t c, int64_t y, int64_t x) {
    return data[static_cast<std::size_t>((c * 4 + y) * 8 + x)];
  };
  EXPECT_EQ(at(0, 1, 2), 20 + 3 + 100 - 1);  // blue
  EXPECT_EQ(at(2, 2, 4), 40 + 6 - 3);        // red
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < 4; ++y)
      for (int64_t x = 0; x < 8; ++x)
        EXPECT_TRUE((y < 3 && x < 5) || at(c, y, x) == 0) << y << " " << x;
}

TEST(Picture, AMirroredOneIsThePictureOfTheMirroredPixels) {
  const Image image = ramp(7, 9);
  Image turned = image;
  for (int64_t y = 0; y < 7; ++y)
    for (int64_t x = 0; x < 9; ++x)
      for (int64_t c = 0; c < 3; ++c)
        turned.rgb[static_cast<std::size_t>((y * 9 + x) * 3 + c)] =
            image.rgb[static_cast<std::size_t>((y * 9 + 8 - x) * 3 + c)];
  const PictureScale scale = scale_to(7, 9, 11, 100);
  std::vector<float> a(3 * 16 * 16), b(a.size());
  write_picture(image, scale, {.mirrored = true}, {a.data(), 16, 16});
  write_picture(turned, scale, {}, {b.data(), 16, 16});
  EXPECT_EQ(a, b);
  expect_error(
      [&] {
        write_picture(image, scale, {}, {a.data(), 8, 16});
      },
      "does not fit into 8 x 16");
}

}  // namespace
}  // namespace lockstep::testing
