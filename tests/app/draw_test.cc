// SPDX-License-Identifier: Apache-2.0
// Boxes and names drawn on pictures: their positions, and that no detection can break the drawing.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "app/draw/boxes.h"
#include "tests/app/pixels.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(DrawnBoxes, LieWhereTheyAre) {
  const DrawnBox box{{20, 40, 100, 90}, "", 2};
  for (int64_t scale : {1, 3}) {
    const Image image = drawn(plain_image(120, 160), std::vector{box}, scale);
    ASSERT_EQ(image.height, 120 * scale);
    ASSERT_EQ(image.width, 160 * scale);
    for (auto [y, x] : {std::pair{40, 60}, {90, 60}, {65, 20}, {65, 100}}) {
      double best = 9;
      for (int64_t dy = -1; dy <= 1; ++dy)
        for (int64_t dx = -1; dx <= 1; ++dx)
          best = std::min(best, distance(pixel(image, y * scale + dy, x * scale + dx), 2));
      EXPECT_LT(best, 0.3) << y << ", " << x << ", " << scale << " times";
    }
    EXPECT_EQ(pixel(image, 65 * scale, 60 * scale), grey(128)) << "inside";
    EXPECT_EQ(pixel(image, 110 * scale, 150 * scale), grey(128)) << "outside";
  }
}

TEST(DrawnBoxes, HaveGapsWhereDashed) {
  const auto run_of_colour = [](bool dashed) {
    const Image image =
        drawn(plain_image(100, 200), std::vector{DrawnBox{{10, 20, 190, 80}, "", 0, dashed}});
    int64_t longest = 0, run = 0;
    for (int64_t x = 0; x < image.width; ++x) {
      run = pixel(image, 20, x) == grey(128) ? 0 : run + 1;
      longest = std::max(longest, run);
    }
    return longest;
  };
  EXPECT_GE(run_of_colour(false), 180);
  EXPECT_LT(run_of_colour(true), 20);
}

TEST(DrawnBoxes, AreCutToThePicture) {
  const Image image =
      drawn(plain_image(60, 80), std::vector{DrawnBox{{-1000, -5, 4000, 1e30F}, "", 1}});
  for (auto [y, x] : {std::pair{0, 40}, {59, 40}, {30, 0}, {30, 79}})
    EXPECT_LT(distance(pixel(image, y, x), 1), 0.3) << y << ", " << x;
  EXPECT_EQ(pixel(image, 30, 40), grey(128));
}

TEST(DrawnBoxes, ThatAreNowhereLeaveThePictureAsItIs) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const Image image = plain_image(50, 50);
  for (const std::array<float, 4>& corners :
       std::vector<std::array<float, 4>>{{kNan, 0, 10, 10},
                                         {0, 0, kInfinite, 10},
                                         {-kInfinite, -kInfinite, kInfinite, kInfinite},
                                         {60, 10, 90, 20},
                                         {-20, -20, -1, -1},
                                         {30, 10, 20, 40},
                                         {1e38F, 0, 3e38F, 10}})
    EXPECT_EQ(drawn(image, std::vector{DrawnBox{corners, "name", 0}}).rgb, image.rgb);
}

// The number of pixels in a part of the picture that belong to letters of a class's tab.
int64_t letters(const Image& image, int64_t from_y, int64_t to_y) {
  int64_t dark = 0;
  for (int64_t y = from_y; y < to_y; ++y)
    for (int64_t x = 0; x < image.width; ++x) dark += pixel(image, y, x)[1] < 100;
  return dark;
}

TEST(DrawnLabels, StayInThePicture) {
  // The tab does not fit above the first box or below the last box.
  for (const std::array<float, 4>& corners : std::vector<std::array<float, 4>>{
           {0, 0, 200, 150}, {150, 0, 199, 149}, {195, 60, 199, 70}, {2, 140, 60, 149}}) {
    const Image without = drawn(plain_image(150, 200, 255), std::vector{DrawnBox{corners, "", 0}});
    const Image with =
        drawn(plain_image(150, 200, 255), std::vector{DrawnBox{corners, "triangle 0.98", 0}});
    EXPECT_GT(letters(with, 0, 150), letters(without, 0, 150) + 40) << corners[1];
  }
}

TEST(DrawnLabels, OfBoxesAtOnePlaceDoNotHideEachOther) {
  const auto count = [](int boxes) {
    std::vector<DrawnBox> all;
    for (int i = 0; i < boxes; ++i) all.push_back({{60, 60, 120, 110}, "box 0.75", 0});
    return letters(drawn(plain_image(200, 200, 255), all), 0, 200);
  };
  const int64_t box = letters(
      drawn(plain_image(200, 200, 255), std::vector{DrawnBox{{60, 60, 120, 110}, "", 0}}), 0, 200);
  EXPECT_GT(count(2) - box, 1.7 * static_cast<double>(count(1) - box));
}

TEST(DrawnLabels, MayHoldAnything) {
  std::vector<std::string> labels{"\xff\xfe",
                                  "a\nb",
                                  std::string("\0x", 2),
                                  "\x1b[31mred",
                                  std::string(100000, 'w'),
                                  "\xd0\xb4\xd0\xbe\xd0\xbc",
                                  "<b>&\"",
                                  "\xf0\x9f\x90\x88"};
  std::string accents;
  for (int i = 0; i < 500; ++i) accents += "\xc3\xa9";
  labels.push_back(accents);
  labels.push_back("a" + accents);
  for (const std::string& label : labels)
    for (int64_t side : {1, 7, 40, 300})
      EXPECT_EQ(
          drawn(plain_image(side, side), std::vector{DrawnBox{{0, 0, 30, 30}, label, 1}}).width,
          side);
}

TEST(DrawnPictures, OfNoSizeOrTooLargeAreRefusedByTheirSize) {
  expect_error([] { drawn({}, {}); }, "0 x 0 pixels");
  expect_error([] { drawn({2, 2, {1, 2, 3}}, {}); }, "2 x 2 pixels has 3 bytes");
  expect_error([] { drawn(plain_image(1, 40000), {}); }, "40000 x 1 pixels", "32767");
  expect_error([] { drawn(plain_image(10, 10), {}, int64_t{1} << 60); }, "10 x 10", "32767");
  expect_error([] { drawn(plain_image(10, 10), {}, 0); }, "scaled 0 times");
}

TEST(ClassColours, DifferAndCarryReadableText) {
  std::set<std::array<int, 3>> all;
  for (std::size_t label = 0; label < 80; ++label) {
    const Colour colour = class_colour(label);
    all.insert({static_cast<int>(20 * colour.red), static_cast<int>(20 * colour.green),
                static_cast<int>(20 * colour.blue)});
    EXPECT_GT(lightness(colour), 0.25) << "visible on black";
    EXPECT_GT(std::abs(lightness(colour) - lightness(text_colour(colour))), 0.4) << label;
  }
  EXPECT_GT(all.size(), 75U);
  class_colour(std::numeric_limits<std::size_t>::max());
}

TEST(Framing, EnlargesAndShrinksByWholeFactors) {
  Image image = plain_image(2, 3, 10);
  image.rgb[0] = 100;
  const Image large = enlarged(image, 2);
  ASSERT_EQ(std::pair(large.height, large.width), std::pair(int64_t{4}, int64_t{6}));
  EXPECT_EQ(pixel(large, 1, 1)[0], 100);
  EXPECT_EQ(pixel(large, 1, 2)[0], 10);
  EXPECT_EQ(shrunk(large, 2).rgb, image.rgb);
  const Image small = shrunk(image, 2);  // the second column's pixel covers two of them
  ASSERT_EQ(std::pair(small.height, small.width), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(pixel(small, 0, 0)[0], 33) << "(100 + 10 + 10 + 10) / 4";
  EXPECT_EQ(pixel(small, 0, 1)[0], 10);
  EXPECT_EQ(times_within(plain_image(128, 100), 400), 3);
  EXPECT_EQ(times_within(plain_image(500, 100), 400), 1);

  const DrawnPicture fit = fitted({plain_image(300, 1001), {{{8, 16, 80, 160}, "a", 1}}}, 400);
  EXPECT_EQ(fit.image.width, 334);
  EXPECT_EQ(fit.boxes[0].corners[3], 160.0F / 3);
  EXPECT_EQ(fit.boxes[0].label, "a");
}

TEST(Framing, CutsOutABoxWithSomeGround) {
  Image image = plain_image(100, 200);
  image.rgb[static_cast<std::size_t>(3 * (50 * 200 + 100))] = 7;
  const DrawnPicture part = cut_out({image, {{{100, 50, 120, 60}, "", 0}}}, {100, 50, 120, 60});
  ASSERT_EQ(part.image.width, 20 + 2 * 16) << "a margin of 8 and of 0.4 x 20";
  ASSERT_EQ(part.image.height, 10 + 2 * 16);
  EXPECT_EQ(part.boxes[0].corners, (std::array<float, 4>{16, 16, 36, 26}));
  EXPECT_EQ(pixel(part.image, 16, 16)[0], 7);

  const DrawnPicture corner = cut_out({image, {}}, {-50, -50, 10, 10});
  EXPECT_EQ(corner.image.width, 10 + 32);
  EXPECT_EQ(cut_out({image, {}}, {500, 0, 600, 10}).image.width, 200) << "the whole picture";
  EXPECT_EQ(cut_out({image, {}}, {std::numeric_limits<float>::quiet_NaN(), 0, 1, 1}).image.width,
            200);
}

}  // namespace
}  // namespace lockstep::testing
