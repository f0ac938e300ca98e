// SPDX-License-Identifier: Apache-2.0
// Masks as run lengths against bitmaps, and Detectron's polygons. check_masks.py compares the same
// functions with pycocotools.
#include "data/coco/masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "data/coco/mask_overlap.h"
#include "data/coco/rle.h"
#include "runtime/masks/polygon_runs.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using Bitmap = std::vector<uint8_t>;

Bitmap any_bitmap(std::mt19937& random, int64_t height, int64_t width) {
  std::bernoulli_distribution pixel(std::uniform_real_distribution<>(0, 1)(random));
  Bitmap bitmap(static_cast<std::size_t>(height * width));
  for (uint8_t& each : bitmap) each = pixel(random);
  return bitmap;
}

TEST(Masks, ArePolygonsAsDetectronDrawsThem) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/data/polygon_cases.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 4U);
  for (const auto& c : cases) {
    std::vector<RunLengths> masks;
    for (const auto& polygon : c.at("polygons"))
      masks.push_back(mask_of(polygon.get<std::vector<double>>(), c.at("height"), c.at("width")));
    ASSERT_EQ(masks.size(), c.at("counts").size());
    for (std::size_t i = 0; i < masks.size(); ++i)
      EXPECT_EQ(encode_run_lengths(masks[i].counts), c.at("counts")[i]);
    EXPECT_EQ(encode_run_lengths(joined(masks).counts), c.at("merged"));
    EXPECT_EQ(area_of(joined(masks)), c.at("area"));
  }
}

TEST(Masks, AreRunsOfTheColumnsOfABitmap) {
  const Bitmap bitmap{0, 1, 1,  //
                      1, 0, 7};
  const RunLengths mask = mask_of_bitmap(bitmap, 2, 3);
  EXPECT_EQ(mask.counts, (std::vector<uint32_t>{1, 2, 1, 2}));
  EXPECT_EQ(bitmap_of(mask), (Bitmap{0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(mirrored(mask).counts, (std::vector<uint32_t>{0, 3, 2, 1}));
  EXPECT_EQ(box_of(mask), (CocoBox{0, 0, 3, 2}));
  EXPECT_EQ(box_of(mask_of_bitmap(Bitmap(6), 2, 3)), (CocoBox{}));
  EXPECT_EQ(mask_of_bitmap(Bitmap(6, 1), 2, 3).counts, (std::vector<uint32_t>{0, 6}));
}

TEST(Masks, CombineAsTheirBitmaps) {
  std::mt19937 random(3);
  for (int n = 0; n < 300; ++n) {
    const int64_t height = 1 + n % 7, width = 1 + n % 11;
    std::vector<RunLengths> masks;
    std::vector<Bitmap> bitmaps;
    for (int i = 0; i < 1 + n % 3; ++i) {
      bitmaps.push_back(any_bitmap(random, height, width));
      masks.push_back(mask_of_bitmap(bitmaps.back(), height, width));
      EXPECT_EQ(bitmap_of(masks.back()), bitmaps.back());
    }
    Bitmap any = bitmaps[0], all = bitmaps[0], mirror = bitmaps[0], without = bitmaps[0];
    for (std::size_t p = 0; p < any.size(); ++p) {
      for (const Bitmap& each : bitmaps) any[p] |= each[p], all[p] &= each[p];
      const auto wide = static_cast<std::size_t>(width);
      mirror[p] = bitmaps[0][p / wide * wide + wide - 1 - p % wide];
      without[p] &= static_cast<uint8_t>(1 - bitmaps.back()[p]);
    }
    const auto counts = [&](const Bitmap& b) { return runs_of_bitmap(b, height, width); };
    EXPECT_EQ(joined(masks).counts, counts(any));
    EXPECT_EQ(common(masks).counts, counts(all));
    EXPECT_EQ(mirrored(masks[0]).counts, counts(mirror));
    EXPECT_EQ(cleared_runs(masks[0].counts, masks.back().counts), counts(without));
    EXPECT_EQ(static_cast<std::size_t>(area_of(masks[0])),
              static_cast<std::size_t>(std::count(bitmaps[0].begin(), bitmaps[0].end(), 1)));
  }
}

TEST(Masks, RunsWithoutPixelsChangeNothing) {
  const RunLengths odd{2, 3, {1, 0, 0, 2, 1, 0, 0, 2}}, plain{2, 3, {1, 2, 1, 2}};
  EXPECT_EQ(bitmap_of(odd), bitmap_of(plain));
  EXPECT_EQ(joined(std::vector{odd, odd}).counts, plain.counts);
  EXPECT_EQ(mirrored(odd).counts, mirrored(plain).counts);
  EXPECT_EQ(box_of(odd), box_of(plain));
  EXPECT_EQ(overlaps(std::vector{odd}, std::vector{plain}, {false})[0], 1);
}

TEST(Masks, OverlapInPartsOfTheUnionOrOfTheDetection) {
  const RunLengths left = mask_of(std::vector<double>{0, 0, 4, 0, 4, 4, 0, 4}, 8, 8);
  const RunLengths lower = mask_of(std::vector<double>{2, 0, 6, 0, 6, 4, 2, 4}, 8, 8);
  const RunLengths apart = mask_of(std::vector<double>{5, 5, 8, 5, 8, 8, 5, 8}, 8, 8);
  const RunLengths none = mask_of(std::vector<double>{}, 8, 8);
  EXPECT_EQ(overlaps(std::vector{left, apart, none}, std::vector{lower, lower}, {false, true}),
            (std::vector<double>{8. / 24, 0.5, 0, 0, 0, 0}));
  // The boxes overlap, the pixels do not.
  const RunLengths around = {3, 3, {0, 4, 1, 4}}, middle = {3, 3, {4, 1, 4}};
  EXPECT_EQ(overlaps(std::vector{around}, std::vector{middle}, {false})[0], 0);
}

TEST(Masks, RefuseOtherSizes) {
  const RunLengths small{2, 2, {4}}, large{2, 3, {6}};
  expect_error(
      [&] {
        joined(std::vector{small, large});
      },
      "a mask of 2 x 2 and a mask of 2 x 3 cannot be combined");
  expect_error([&] { joined(std::vector<RunLengths>{}); }, "there are no masks to combine");
  expect_error([&] { overlaps(std::vector{small}, std::vector{large}, {false}); },
               "a mask of 2 x 2 cannot overlap a mask of 2 x 3");
  expect_error([&] { overlaps(std::vector{small}, std::vector{small}, {}); }, "1 objects, but 0");
  expect_error([&] { bitmap_of({2, 2, {3}}); }, "runs add up to 3 pixels, the mask of 2 x 2 has 4");
  expect_error([&] { bitmap_of({2, 2, {0, 5}}); }, "runs of more than 2 x 2 pixels");
  expect_error([&] { mask_of_bitmap(Bitmap(3), 2, 2); }, "a bitmap of 3 bytes");
}

TEST(Masks, RefusePolygonsThatCannotBeDrawn) {
  const auto draw = [](std::vector<double> points, int64_t height, int64_t width) {
    return [=] { mask_of(points, height, width); };
  };
  expect_error(draw({1, 2, 3}, 4, 4), "a polygon of 3 numbers");
  expect_error(draw({1, 2, NAN, 4, 5, 6}, 4, 4), "vertex 1 of the polygon is at x nan");
  expect_error(draw({1, -INFINITY, 3, 4, 5, 6}, 4, 4), "vertex 0 of the polygon is at y -inf");
  expect_error(draw({1, 2, 3, 1e308, 5, 6}, 4, 4), "vertex 1 of the polygon is at y 1e+308");
  expect_error(draw({1, 2, 3, 4, 5, 6}, 0, 4), "a mask of 0 x 4 pixels cannot be drawn");
  expect_error(draw({1, 2, 3, 4, 5, 6}, 1 << 20, 1 << 20), "cannot be drawn");
}

// Long sides cost no more than the columns of the mask.
TEST(Masks, PolygonsMayBeFarLargerThanTheMask) {
  const double far = 1e12;
  EXPECT_EQ(mask_of(std::vector<double>{-far, -far, far, -far, far, far, -far, far}, 5, 7).counts,
            (std::vector<uint32_t>{0, 35}));
  std::vector<double> zigzag;
  for (int i = 0; i < 100000; ++i) zigzag.insert(zigzag.end(), {i % 2 ? far : -far, i % 5 - 1.});
  EXPECT_NO_THROW(check_run_lengths(mask_of(zigzag, 5, 9)));
}

}  // namespace
}  // namespace lockstep::testing
