// SPDX-License-Identifier: Apache-2.0
// Rings of objects: polygons in their order, and contours of run lengths that give the run lengths
// back.
#include "data/detection/rings_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "data/coco/masks.h"
#include "lockstep/error.h"

namespace lockstep::testing {
namespace {

RunLengths drawn_by(int64_t height, int64_t width,
                    const std::function<bool(int64_t row, int64_t column)>& set) {
  std::vector<uint8_t> bitmap;
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) bitmap.push_back(set(row, column));
  return mask_of_bitmap(bitmap, height, width);
}

// Expects the rings to give the mask back, with numbers that ascend, also from floats.
void expect_same_mask(const RunLengths& mask, const std::string& where) {
  Rings rings = rings_of(mask);
  ASSERT_EQ(rings.xy.size(), 2 * rings.vertices()) << where;
  EXPECT_EQ(vertices_of(mask), static_cast<int64_t>(rings.vertices())) << where;
  EXPECT_EQ(mask_of(rings, mask.height, mask.width).counts, mask.counts) << where;
  EXPECT_TRUE(std::is_sorted(rings.ring_of.begin(), rings.ring_of.end())) << where;
  for (double& each : rings.xy) EXPECT_EQ(static_cast<double>(static_cast<float>(each)), each);
}

TEST(Rings, OfAMaskComeOutlineFirstThenHolesThenIslands) {
  const RunLengths mask = drawn_by(7, 7, [](int64_t y, int64_t x) {
    const int64_t inwards = std::min({y, x, 6 - y, 6 - x});
    return inwards % 2 == 1;  // a frame, and a pixel in the middle of its hole
  });
  const Rings rings = rings_of(mask);
  EXPECT_EQ(rings.ring_of, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(std::vector<double>(rings.xy.begin(), rings.xy.begin() + 8),
            (std::vector<double>{6, 1, 6, 6, 1, 6, 1, 1}));
  expect_same_mask(mask, "frame");
}

// An outline after an outline has the next even number, a hole after a hole the next odd one.
TEST(Rings, NumbersSayWhetherARingIsAHole) {
  const RunLengths mask = drawn_by(
      3, 9, [](int64_t y, int64_t x) { return x < 7 ? y != 1 || (x != 1 && x != 4) : x == 8; });
  const Rings rings = rings_of(mask);
  ASSERT_EQ(rings.vertices(), 16U);
  EXPECT_EQ(rings.ring_of[0], 0);
  EXPECT_EQ(rings.ring_of[4], 1);
  EXPECT_EQ(rings.ring_of[8], 3);
  EXPECT_EQ(rings.ring_of[12], 4);
  expect_same_mask(mask, "two holes and a neighbour");
}

TEST(Rings, PixelsThatTouchAtACornerAreApart) {
  const RunLengths mask = drawn_by(2, 2, [](int64_t y, int64_t x) { return y == x; });
  EXPECT_EQ(rings_of(mask).ring_of, (std::vector<int64_t>{0, 0, 0, 0, 2, 2, 2, 2}));
  expect_same_mask(mask, "diagonal");
}

TEST(Rings, OfRunLengthsGiveTheRunLengthsBack) {
  expect_same_mask(drawn_by(5, 7, [](int64_t, int64_t) { return false; }), "nothing");
  expect_same_mask(drawn_by(5, 7, [](int64_t, int64_t) { return true; }), "all");
  expect_same_mask(drawn_by(1, 1, [](int64_t, int64_t) { return true; }), "one pixel");
  for (int odd : {0, 1})
    expect_same_mask(drawn_by(8, 9, [&](int64_t y, int64_t x) { return (y + x) % 2 == odd; }),
                     "checkerboard");
  expect_same_mask(drawn_by(7, 7, [](int64_t y, int64_t x) { return y % 2 == 0 || x % 2 == 0; }),
                   "grid of holes");
  std::mt19937 random(11);
  for (int n = 0; n < 2000; ++n) {
    const auto below = [&](int most) {
      return std::uniform_int_distribution<>(0, most - 1)(random);
    };
    const int64_t height = 1 + below(24), width = 1 + below(24);
    std::vector<uint8_t> bitmap(static_cast<std::size_t>(height * width));
    const int share = 1 + below(9);
    for (uint8_t& pixel : bitmap) pixel = below(10) < share;
    if (n % 2 == 1)  // blobs of 2 x 2 pixels have longer contours
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x)
          bitmap[static_cast<std::size_t>(y * width + x)] =
              bitmap[static_cast<std::size_t>(y / 2 * 2 * width + x / 2 * 2)];
    expect_same_mask(mask_of_bitmap(bitmap, height, width), join("mask ", n));
  }
}

// Files may have runs of no pixels.
TEST(Rings, AreCountedBetweenRunsOfNoPixels) {
  const RunLengths runs{4, 6, {0, 2, 0, 3, 1, 0, 2, 3, 0, 0, 0, 1, 12}};
  const RunLengths mask = mask_of_bitmap(bitmap_of(runs), 4, 6);
  EXPECT_LT(mask.counts.size(), runs.counts.size());
  EXPECT_EQ(vertices_of(runs), static_cast<int64_t>(rings_of(mask).vertices()));
  EXPECT_EQ(vertices_of(mask), static_cast<int64_t>(rings_of(runs).vertices()));
}

TEST(Rings, OfPolygonsAreThePolygons) {
  Annotations table;
  table.images.push_back({1, "a.jpg", 20, 30});
  table.coordinates = {9, 9, 1.25, 2, 7, 2, 7, 8.5, 20, 5, 25, 5, 25, 9, 20, 9};
  table.polygons = {{0, 2}, {2, 6}, {8, 8}};
  CocoObject object;
  object.polygons = {1, 2};
  const Rings rings = rings_of(table, object);
  EXPECT_EQ(rings.xy, std::vector<double>(table.coordinates.begin() + 2, table.coordinates.end()));
  EXPECT_EQ(rings.ring_of, (std::vector<int64_t>{0, 0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(mask_of(rings, 20, 30).counts, mask_of(table, object).counts);
  EXPECT_EQ(vertices_of(table, object), 7);
  object.polygons = {};
  EXPECT_EQ(rings_of(table, object).vertices(), 0U);
  EXPECT_EQ(mask_of(table, object).counts, std::vector<uint32_t>{600});
}

}  // namespace
}  // namespace lockstep::testing
