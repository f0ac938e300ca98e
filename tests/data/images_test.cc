// SPDX-License-Identifier: Apache-2.0
// Reads picture files, crops and resamples.
#include <gtest/gtest.h>

#include <cmath>

#include "data/transform.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(Image, PngComesBackTheSame) {
  TemporaryFolder folder;
  Image image = gradient_image(13, 17);
  write_png(folder / "a.png", image);
  Image read = read_image(folder / "a.png");
  EXPECT_EQ(read.height, 13);
  EXPECT_EQ(read.width, 17);
  EXPECT_EQ(read.rgb, image.rgb);
  expect_error([] { png_of(Image{}); }, "a picture of 0 x 0 cannot be written");
}

TEST(Image, JpegComesBackAlike) {
  TemporaryFolder folder;
  Image image = gradient_image(40, 64);
  write_jpeg(folder / "a.jpg", image);
  Image read = read_image(folder / "a.jpg");
  ASSERT_EQ(read.rgb.size(), image.rgb.size());
  double difference = 0;
  for (std::size_t i = 0; i < read.rgb.size(); ++i)
    difference += std::abs(static_cast<double>(read.rgb[i]) - image.rgb[i]);
  EXPECT_LT(difference / static_cast<double>(read.rgb.size()), 4);
}

TEST(Image, GreyBecomesColour) {
  TemporaryFolder folder;
  write_jpeg(folder / "a.jpg", gradient_image(8, 8), true);
  Image read = read_image(folder / "a.jpg");
  ASSERT_EQ(read.rgb.size(), 3u * 64);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(read.rgb[3 * i], read.rgb[3 * i + 2]);
}

TEST(Image, DamagedFilesAreNamed) {
  TemporaryFolder folder;
  auto cut = [&](const std::string& name, std::size_t bytes) {
    const std::string text = read_file(folder / name);
    write_file(folder / name, text.substr(0, bytes));
    expect_error([&] { read_image(folder / name); }, name);
  };
  write_png(folder / "a.png", gradient_image(60, 60));
  cut("a.png", 120);
  cut("a.png", 20);
  write_jpeg(folder / "a.jpg", gradient_image(60, 60));
  cut("a.jpg", 700);
  cut("a.jpg", 30);
  write_file(folder / "c.jpg", "");
  expect_error([&] { read_image(folder / "c.jpg"); }, "c.jpg: is empty");
}

std::vector<float> prepared(const Image& image, const Region& region, bool mirror,
                            const Preparation& to) {
  std::vector<float> chw(static_cast<std::size_t>(to.values()));
  prepare(image, to, region, mirror, chw.data());
  return chw;
}

TEST(Resample, TheWholePictureAtItsSizeIsThePicture) {
  Image image = gradient_image(6, 9);
  auto chw = prepared(image, {0, 0, 6, 9}, false, {3, 6, 9});
  auto mirrored = prepared(image, {0, 0, 6, 9}, true, {3, 6, 9});
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 9; ++x)
      for (int c = 0; c < 3; ++c) {
        const float value = image.rgb[3 * (y * 9 + x) + c] / 255.0F;
        EXPECT_NEAR(chw[(c * 6 + y) * 9 + x], value, 1e-6);
        EXPECT_NEAR(mirrored[(c * 6 + y) * 9 + 8 - x], value, 1e-6);
      }
}

TEST(Resample, ShrinkingUsesEveryPixel) {
  // Single bright pixels. A filter that skips pixels would miss most of them.
  Image image{32, 32, std::vector<uint8_t>(3 * 32 * 32, 0)};
  for (int i = 0; i < 32; i += 4)
    for (int k = 0; k < 32; k += 4) image.rgb[3 * (i * 32 + k)] = 255;
  auto chw = prepared(image, {0, 0, 32, 32}, false, {3, 8, 8});
  double mean = 0;
  for (int i = 0; i < 64; ++i) mean += chw[i] / 64.0;
  EXPECT_NEAR(mean, 1.0 / 16, 0.01);
}

TEST(Resample, NormalisesByChannel) {
  Image image{1, 1, {255, 0, 51}};
  auto chw =
      prepared(image, {0, 0, 1, 1}, false, {3, 1, 1, 1, {0.5F, 0.5F, 0.2F}, {0.5F, 0.25F, 1}});
  EXPECT_NEAR(chw[0], 1, 1e-6);
  EXPECT_NEAR(chw[1], -2, 1e-6);
  EXPECT_NEAR(chw[2], 0, 1e-6);
}

TEST(Regions, LieInThePicture) {
  PhiloxSequence random(3, 3);
  for (auto [h, w] : {std::pair{300, 400}, {50, 1000}, {1000, 20}, {1, 1}})
    for (int i = 0; i < 200; ++i) {
      Region r = random_region(h, w, {0.08, 1}, random);
      EXPECT_GE(r.top, 0);
      EXPECT_GE(r.left, 0);
      EXPECT_LE(r.top + r.height, h + 1e-9);
      EXPECT_LE(r.left + r.width, w + 1e-9);
      EXPECT_GT(r.height * r.width, 0);
    }
}

TEST(Regions, TheMiddleIsWhatRemainsOfTheResizedPicture) {
  const Image image{300, 400, {}};
  const Region square = central_region(image, {3, 224, 224, 256});
  EXPECT_NEAR(square.height, 300 * 224.0 / 256, 1e-9);
  EXPECT_NEAR(square.width, square.height, 1e-9);
  EXPECT_NEAR(square.left + square.width / 2, 200, 1e-9);
  // Twice as high as wide: 300 pixels become 20.
  const Region high = central_region(image, {1, 20, 10, 10});
  EXPECT_NEAR(high.height, 300, 1e-9);
  EXPECT_NEAR(high.width, 150, 1e-9);
  const Region whole = central_region(image, {3, 300, 400, 300});
  EXPECT_EQ(whole.top, 0);
  EXPECT_EQ(whole.left, 0);
  EXPECT_EQ(whole.height, 300);
  EXPECT_EQ(whole.width, 400);
}

// A few bytes may claim a picture of any size. No memory is allocated for the claimed size.
TEST(Images, DoNotBelieveSizes) {
  TemporaryFolder folder;
  const std::string path = folder / "picture";
  const auto big_endian = [](uint32_t value, int bytes) {
    std::string text;
    for (int i = bytes; i-- > 0;) text += static_cast<char>(value >> 8 * i & 0xFF);
    return text;
  };
  write_png(path, gradient_image(20, 30));
  const std::string png = read_file(path);
  for (uint32_t side : {50000U, 0x7FFFFFFFU}) {
    std::string text = png;
    text.replace(16, 8, big_endian(side, 4) + big_endian(side, 4));
    // The header's correct checksum, as a forger would write it.
    uint32_t crc = 0xFFFFFFFFU;
    for (std::size_t i = 12; i < 29; ++i) {
      crc ^= static_cast<unsigned char>(text[i]);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0xEDB88320U : crc >> 1;
    }
    text.replace(29, 4, big_endian(~crc, 4));
    write_file(path, text);
    expect_error([&] { read_image(path); }, "picture", side == 50000U ? "too large" : "");
  }
  write_jpeg(path, gradient_image(20, 30));
  std::string jpeg = read_file(path);
  const auto frame = jpeg.find("\xFF\xC0");
  ASSERT_NE(frame, jpeg.npos);
  jpeg.replace(frame + 5, 4, big_endian(65500, 2) + big_endian(65500, 2));
  write_file(path, jpeg);
  expect_error([&] { read_image(path); }, "picture", "65500 x 65500", "too large");
}

}  // namespace
}  // namespace lockstep::testing
