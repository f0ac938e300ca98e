// SPDX-License-Identifier: Apache-2.0
// Masks and keypoints drawn on pictures, pixel by pixel, and odd ones that must not break anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "app/draw/boxes.h"
#include "app/draw/instance_masks.h"
#include "data/coco/masks.h"
#include "data/coco/rle.h"
#include "data/scenes/outline.h"
#include "tests/app/pixels.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr Corners kNowhere{5, 5, 4, 4};

// A mask that is set where `inside(y, x)` says so.
template <class Inside>
RunLengths mask_where(int64_t height, int64_t width, const Inside& inside) {
  std::vector<uint8_t> bitmap;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) bitmap.push_back(inside(y, x) ? 1 : 0);
  return mask_of_bitmap(bitmap, height, width);
}

RunLengths rectangle(int64_t height, int64_t width, int64_t top, int64_t left, int64_t bottom,
                     int64_t right) {
  return mask_where(height, width, [&](int64_t y, int64_t x) {
    return y >= top && y < bottom && x >= left && x < right;
  });
}

DrawnBox only_mask(RunLengths mask, std::size_t colour = 0) {
  return {.corners = kNowhere, .label = "", .colour = colour, .mask = std::move(mask)};
}
DrawnBox only_points(std::vector<DrawnPoint> points, std::vector<Limb> limbs = {}) {
  return {.corners = kNowhere,
          .label = "",
          .colour = 1,
          .points = std::move(points),
          .limbs = std::move(limbs)};
}

// Three fifths of the level and two fifths of the class's colour.
std::array<uint8_t, 3> blended(uint8_t level, std::size_t label) {
  const Colour colour = class_colour(label);
  std::array<uint8_t, 3> result{};
  const double parts[] = {colour.red, colour.green, colour.blue};
  for (std::size_t k = 0; k < 3; ++k)
    result[k] = static_cast<uint8_t>(std::lround(0.6 * level + 0.4 * (255 * parts[k])));
  return result;
}

TEST(FilledMasks, MixTwoFifthsOfTheColourAndLeaveTheRest) {
  const auto inside = [](int64_t y, int64_t x) {
    return (y - 20) * (y - 20) + (x - 30) * (x - 30) < 100 && !(x == 30 && y > 15 && y < 25);
  };
  for (uint8_t level : {0, 77, 255}) {
    Image image = plain_image(40, 60, level);
    fill_masks(image, std::vector{only_mask(mask_where(40, 60, inside), 3)});
    for (int64_t y = 0; y < 40; ++y)
      for (int64_t x = 0; x < 60; ++x)
        ASSERT_EQ(pixel(image, y, x), inside(y, x) ? blended(level, 3) : grey(level))
            << y << ", " << x;
  }
}

TEST(FilledMasks, OnDrawnPicturesHaveAnOutlineOnDarkAndOnBrightGround) {
  for (int64_t scale : {1, 3})
    for (uint8_t level : {0, 255}) {
      const DrawnBox box = only_mask(rectangle(60, 80, 10, 20, 40, 60), 2);
      const Image image = drawn(plain_image(60, 80, level), std::vector{box}, scale);
      EXPECT_EQ(pixel(image, 25 * scale, 40 * scale), blended(level, 2)) << "inside";
      EXPECT_EQ(pixel(image, 50 * scale, 70 * scale), grey(level)) << "outside";
      EXPECT_EQ(pixel(image, 25 * scale, 10 * scale), grey(level)) << "outside";
      for (auto [y, x] : {std::pair{10, 40}, {40, 40}, {25, 20}, {25, 60}})
        EXPECT_LT(nearest(image, y * scale, x * scale, 2), 0.05) << y << ", " << x;
    }
  DrawnBox outlined = only_mask(rectangle(60, 80, 10, 20, 40, 60), 2);
  outlined.filled = false;
  const Image image = drawn(plain_image(60, 80), std::vector{outlined});
  EXPECT_EQ(pixel(image, 25, 40), grey(128));
  EXPECT_LT(nearest(image, 25, 20, 2), 0.05);
}

// Black ground, where only lines of the colour are bright.
TEST(FilledMasks, HaveGapsInTheOutlineWhereDashed) {
  const auto bright_pixels = [](bool dashed) {
    DrawnBox box = only_mask(rectangle(100, 200, 20, 10, 80, 190), 0);
    box.dashed = dashed;
    box.filled = false;
    const Image image = drawn(plain_image(100, 200, 0), std::vector{box});
    int64_t count = 0;
    for (int64_t x = 20; x < 180; ++x) count += nearest(image, 20, x, 0, 0) < 0.8 ? 1 : 0;
    return count;
  };
  EXPECT_EQ(bright_pixels(false), 160);
  EXPECT_LT(bright_pixels(true), 120);
  EXPECT_GT(bright_pixels(true), 60);
}

TEST(FilledMasks, OverEachOtherShowTheLastOneAndThePictureBelow) {
  std::vector<DrawnBox> boxes;
  for (std::size_t i = 0; i < 100; ++i)
    boxes.push_back(only_mask(rectangle(50, 50, 0, 0, 50, 50 - static_cast<int64_t>(i % 7)), i));
  Image image = plain_image(50, 50, 200);
  fill_masks(image, boxes);
  EXPECT_EQ(pixel(image, 25, 10), blended(200, 99));
  EXPECT_EQ(pixel(image, 25, 49), blended(200, 98)) << "99 is one narrower";
  EXPECT_EQ(drawn(plain_image(50, 50), boxes).width, 50);
}

TEST(FilledMasks, MayBeOdd) {
  const Image image = plain_image(30, 40);
  const DrawnBox none = only_mask(rectangle(30, 40, 0, 0, 0, 0));
  EXPECT_EQ(drawn(image, std::vector{none}).rgb, image.rgb) << "no pixel";
  const DrawnBox all = only_mask(rectangle(30, 40, 0, 0, 30, 40), 1);
  EXPECT_EQ(pixel(drawn(image, std::vector{all}), 15, 20), blended(128, 1));
  const DrawnBox chequered =
      only_mask(mask_where(30, 40, [](int64_t y, int64_t x) { return (x + y) % 2 == 0; }));
  EXPECT_EQ(drawn(image, std::vector{chequered}).height, 30);
  // A box without an area has a mask and a name like any other.
  DrawnBox flat = only_mask(rectangle(30, 40, 5, 5, 25, 35), 1);
  flat.corners = {20, 15, 20, 15};
  flat.label = "flat";
  EXPECT_EQ(pixel(drawn(image, std::vector{flat}), 22, 30), blended(128, 1));
  const Image dot = drawn(plain_image(1, 1, 9), std::vector{only_mask({1, 1, {0, 1}}, 1)});
  EXPECT_EQ(dot.rgb.size(), 3U);
}

TEST(FilledMasks, OfAnotherSizeAreRefused) {
  const auto draw = [](const RunLengths& mask) {
    drawn(plain_image(30, 40), std::vector{only_mask(mask)});
  };
  expect_error([&] { draw(rectangle(40, 30, 0, 0, 9, 9)); }, "a mask of 30 x 40 pixels",
               "a picture of 40 x 30");
  expect_error([&] { draw({30, 40, {7, 5}}); }, "runs add up to 12");
  expect_error(
      [&] {
        drawn({30, 40, {1}}, std::vector{only_mask({30, 40, {1200}})});
      },
      "has 1 bytes");
}

TEST(DrawnPoints, AreDiscsAndHollowWhereHidden) {
  for (int64_t scale : {1, 4})
    for (uint8_t level : {0, 255}) {
      const DrawnBox box = only_points(
          {{20, 30, PointMark::filled}, {70, 30, PointMark::hollow}, {45, 60, PointMark::none}});
      const Image image = drawn(plain_image(80, 100, level), std::vector{box}, scale);
      EXPECT_LT(distance(pixel(image, 30 * scale, 20 * scale), 1), 0.1) << "filled";
      EXPECT_GT(distance(pixel(image, 30 * scale, 70 * scale), 1), 0.8) << "dark middle";
      EXPECT_LT(nearest(image, 30 * scale, 70 * scale, 1, 4), 0.5) << "ring";
      EXPECT_EQ(pixel(image, 60 * scale, 45 * scale), grey(level)) << "not known";
      EXPECT_EQ(pixel(image, 30 * scale, 45 * scale), grey(level)) << "no limb";
    }
}

TEST(DrawnPoints, AreJoinedByLimbsIfBothAreKnown) {
  const std::vector<DrawnPoint> points{
      {10, 40, PointMark::filled}, {50, 40, PointMark::hollow}, {90, 40, PointMark::none}};
  const std::vector<Limb> limbs{{0, 1}, {1, 2}, {0, 7}};
  const Image image = drawn(plain_image(80, 100, 0), std::vector{only_points(points, limbs)});
  EXPECT_LT(distance(pixel(image, 40, 30), 1), 0.2);
  EXPECT_EQ(pixel(image, 40, 70), grey(0));
  EXPECT_EQ(pixel(image, 50, 30), grey(0));
}

TEST(DrawnPoints, OutsideThePictureHarmNothing) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const Image image = plain_image(50, 60);
  for (const DrawnPoint& point : std::vector<DrawnPoint>{{-20, 10, PointMark::filled},
                                                         {1e30F, 10, PointMark::filled},
                                                         {10, -1e9F, PointMark::hollow},
                                                         {kNan, 10, PointMark::filled},
                                                         {10, kInfinite, PointMark::filled}})
    EXPECT_EQ(drawn(image, std::vector{only_points({point})}, 1).rgb, image.rgb) << point.x;
  // The part of a limb within the picture is drawn.
  const DrawnBox box = only_points({{-100, 25}, {30, 25}, {kNan, 40}}, {{0, 1}, {1, 2}});
  const Image with = drawn(image, std::vector{box});
  EXPECT_LT(distance(pixel(with, 25, 5), 1), 0.2);
  EXPECT_EQ(pixel(with, 25, 50), grey(128));
  EXPECT_EQ(drawn(plain_image(1, 1), std::vector{box}).width, 1);
}

TEST(Framing, MovesMasksAndPointsWithTheirPicture) {
  Image image = plain_image(100, 200);
  DrawnBox box = only_mask(rectangle(100, 200, 50, 100, 60, 120), 1);
  box.points = {{110, 55, PointMark::hollow}, {-4, 200, PointMark::none}};
  box.limbs = {{0, 1}};
  const DrawnPicture part = cut_out({image, {box}}, {100, 50, 120, 60});
  ASSERT_EQ(part.image.width, 52);
  ASSERT_EQ(part.image.height, 42);
  EXPECT_EQ(part.boxes[0].mask, rectangle(42, 52, 16, 16, 26, 36));
  EXPECT_EQ(part.boxes[0].points[0].x, 26);
  EXPECT_EQ(part.boxes[0].points[0].y, 21);
  EXPECT_EQ(part.boxes[0].points[0].mark, PointMark::hollow);
  EXPECT_EQ(part.boxes[0].limbs, box.limbs);
  // The mask ends at the cut.
  const DrawnPicture corner = cut_out({image, {box}}, {90, 45, 100, 50});
  EXPECT_EQ(corner.boxes[0].mask, rectangle(29, 34, 17, 22, 27, 34));

  const DrawnPicture small = fitted({image, {box}}, 50);  // four times smaller
  EXPECT_EQ(small.image.width, 50);
  EXPECT_EQ(small.boxes[0].mask, rectangle(25, 50, 12, 25, 15, 30))
      << "rows 48 to 51 are half full";
  EXPECT_EQ(small.boxes[0].points[0].x, 27.5F);
  EXPECT_EQ(small.boxes[0].points[1].y, 50);
  EXPECT_EQ(drawn(small.image, small.boxes).width, 50) << "the sizes agree";

  const DrawnPicture same = fitted({image, {box}}, 400);
  EXPECT_EQ(same.boxes[0].mask, box.mask);
}

TEST(Framing, ShrinksMasksAsPictures) {
  // 5 x 7 pixels in squares of 3: the last column of squares is one pixel wide.
  const RunLengths edge = rectangle(5, 7, 0, 6, 5, 7);
  EXPECT_EQ(shrunk_mask(edge, 3), rectangle(2, 3, 0, 2, 2, 3));
  EXPECT_EQ(shrunk_mask(rectangle(5, 7, 0, 0, 5, 1), 3), rectangle(2, 3, 0, 0, 0, 0))
      << "a third of a square";
  EXPECT_EQ(shrunk_mask(edge, 1), edge);
  EXPECT_EQ(shrunk_mask(rectangle(5, 7, 0, 0, 5, 7), 100), rectangle(1, 1, 0, 0, 1, 1));
  EXPECT_EQ(area_of(cut_mask(edge, {1, 3, 3, 0})), 0);
  EXPECT_EQ(cut_mask(edge, {1, 5, 3, 2}), rectangle(3, 2, 0, 1, 3, 2));
  expect_error([&] { cut_mask(edge, {0, 0, 6, 7}); }, "no part of 7 x 6");
  expect_error([&] { shrunk_mask(edge, 0); }, "0 times");
}

TEST(Limbs, AreKnownByTheNamesOfPoints) {
  const std::vector<std::string> person{
      "nose",           "left_eye",   "right_eye",   "left_ear",   "right_ear",   "left_shoulder",
      "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hip",
      "right_hip",      "left_knee",  "right_knee",  "left_ankle", "right_ankle"};
  const std::vector<Limb> limbs = limbs_of(person);
  EXPECT_EQ(limbs.size(), 19U) << "as in COCO's file";
  EXPECT_NE(std::find(limbs.begin(), limbs.end(), Limb(13, 15)), limbs.end()) << "knee to ankle";
  for (std::size_t point = 0; point < person.size(); ++point)
    EXPECT_TRUE(std::any_of(limbs.begin(), limbs.end(), [&](const Limb& limb) {
      return limb.first == point || limb.second == point;
    })) << person[point];
  std::vector<std::string> turned(person.rbegin(), person.rend());
  EXPECT_NE(limbs_of(turned), limbs);
  EXPECT_EQ(limbs_of(turned).size(), 19U);
  const std::vector<std::string> arrow(kArrowPoints.begin(), kArrowPoints.end());
  EXPECT_EQ(limbs_of(arrow), (std::vector<Limb>{{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4}}));
  turned.pop_back();
  EXPECT_TRUE(limbs_of(turned).empty()) << "a person without a nose";
  EXPECT_TRUE(limbs_of({}).empty());
  EXPECT_TRUE(limbs_of({"a", "b"}).empty());
}

}  // namespace
}  // namespace lockstep::testing
