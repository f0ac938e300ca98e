// SPDX-License-Identifier: Apache-2.0
// Generated scenes stay within their limits, so a detector's score is comparable everywhere.
#include "data/scenes/scenes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/coco/keypoints.h"
#include "data/coco/overlap.h"
#include "data/coco/rle.h"
#include "data/scenes/outline.h"
#include "runtime/dist/agree.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

const SceneOptions kMany{.count = 600};

Outline outline_in(const Annotations& table, const CocoObject& object) {
  const PoolPart part = table.polygons[object.polygons.first];
  Outline outline;
  for (uint32_t i = 0; i < part.count; i += 2)
    outline.push_back({table.coordinates[part.first + i], table.coordinates[part.first + i + 1]});
  return outline;
}

TEST(Scenes, HoldWhatTheyPromise) {
  const Scenes scenes(kMany);
  const Annotations& table = scenes.annotations();
  ASSERT_EQ(table.images.size(), 600U);
  ASSERT_EQ(table.categories.size(), 4U);
  int empty = 0, crowds = 0, kinds[4] = {}, near = 0;
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    const auto objects = table.objects_of(i);
    const auto single =
        std::count_if(objects.begin(), objects.end(), [](const auto& o) { return !o.crowd; });
    empty += objects.empty();
    EXPECT_TRUE(objects.empty() || (single >= 2 && single <= 8)) << "scene " << i;
    for (const CocoObject& object : objects) {
      const auto& [x, y, width, height] = object.bbox;
      EXPECT_TRUE(x >= 0 && y >= 0 && x + width <= Scenes::kSide && y + height <= Scenes::kSide);
      crowds += object.crowd;
      if (object.crowd) continue;
      ++kinds[object.category];
      EXPECT_GE(std::min(width, height), 16);
      EXPECT_LE(std::max(width, height), 64);
      EXPECT_EQ(object.keypoints.count, object.category == 3 ? 15U : 0U);
      for (const CocoObject& other : objects) {
        if (&other == &object || other.crowd) continue;
        EXPECT_LE(overlap(object.bbox, other.bbox, false), 0.4);
        near += overlap(object.bbox, other.bbox, false) > 0.3;
      }
    }
  }
  EXPECT_TRUE(empty >= 10 && empty <= 45) << empty;
  EXPECT_TRUE(crowds >= 40 && crowds <= 110) << crowds;
  EXPECT_GT(near, 20) << "overlapping pairs";
  for (int count : kinds) EXPECT_GT(count, 500);
}

// The outermost drawn pixels match the box, and the number of pixels is the polygon's area.
TEST(Scenes, BoxesAndAreasAreThoseOfThePixels) {
  const Scenes scenes({.count = 60});
  const Annotations& table = scenes.annotations();
  for (const CocoObject& object : table.objects) {
    if (object.crowd) {
      EXPECT_EQ(object.area,
                static_cast<double>(area_of(table.masks[static_cast<std::size_t>(object.mask)])));
      continue;
    }
    int64_t left = Scenes::kSide, top = Scenes::kSide, right = 0, bottom = 0, pixels = 0;
    fill(outline_in(table, object), Scenes::kSide, Scenes::kSide,
         [&](int64_t row, int64_t first, int64_t last) {
           left = std::min(left, first);
           top = std::min(top, row);
           right = std::max(right, last);
           bottom = std::max(bottom, row + 1);
           pixels += last - first;
         });
    // The tip of a triangle may be narrower than a pixel.
    EXPECT_NEAR(static_cast<double>(left), object.bbox[0], 3);
    EXPECT_NEAR(static_cast<double>(top), object.bbox[1], 3);
    EXPECT_NEAR(static_cast<double>(right), object.bbox[0] + object.bbox[2], 3);
    EXPECT_NEAR(static_cast<double>(bottom), object.bbox[1] + object.bbox[3], 3);
    EXPECT_NEAR(static_cast<double>(pixels), object.area, 0.04 * object.area + 8);
  }
}

TEST(Scenes, NoiseHasAStandardDeviationOfTwentyLevels) {
  const Scenes noisy({.count = 8}), clean({.count = 8, .noise = 0});
  double sum = 0, squares = 0;
  int64_t count = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const Image a = noisy.picture(i), b = clean.picture(i);
    for (std::size_t p = 0; p < a.rgb.size(); ++p, ++count) {
      const int difference = int{a.rgb[p]} - int{b.rgb[p]};
      sum += difference;
      squares += difference * difference;
    }
  }
  EXPECT_NEAR(sum / static_cast<double>(count), 0, 0.2);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 20, 0.4);
}

TEST(Scenes, ArrowsPointsLieOnTheirOutline) {
  const Scenes scenes({.count = 100});
  const Annotations& table = scenes.annotations();
  int hidden = 0, seen = 0;
  for (const CocoObject& object : table.objects) {
    for (uint32_t i = 0; i < object.keypoints.count; i += 3) {
      const double* point = &table.keypoints[object.keypoints.first + i];
      const Outline outline = outline_in(table, object);
      EXPECT_TRUE(std::any_of(outline.begin(), outline.end(), [&](const ScenePoint& p) {
        return p.x - 0.5 == point[0] && p.y - 0.5 == point[1];
      }));
      (point[2] == 2 ? seen : hidden) += 1;
    }
  }
  EXPECT_GT(seen, 10 * hidden);
  EXPECT_GT(hidden, 0);
  EXPECT_EQ(table.categories[3].swap, pairs_by_name(table.categories[3].keypoints));
  EXPECT_EQ(table.categories[3].swap.size(), 2U);
  EXPECT_EQ(sigmas_of(table), std::vector<double>(5, 0.05));
}

// Changed scenes must be noticed: earlier scores would no longer be comparable.
TEST(Scenes, ArePinned) {
  const auto digest_of = [](const SceneOptions& options) {
    const Scenes scenes(options);
    std::string all;
    for (const CocoObject& object : scenes.annotations().objects)
      all += join(object.image, " ", object.category, " ", object.bbox[0], " ", object.bbox[1], " ",
                  object.bbox[2], " ", object.bbox[3], "\n");
    for (std::size_t i : {std::size_t{0}, std::size_t{7}}) {
      const Image image = scenes.picture(i);
      all.append(image.rgb.begin(), image.rgb.end());
    }
    return digest(all.data(), all.size()).substr(0, 16);
  };
  EXPECT_EQ(digest_of({.count = 50}), "fe0329e0e0d00129");
  EXPECT_EQ(digest_of({.count = 50, .held_out = true}), "805205c8e0b4a331");
  EXPECT_NE(digest_of({.seed = 2, .count = 50}), digest_of({.count = 50}));
}

TEST(Scenes, AreTheSameInALargerSet) {
  const Scenes few({.count = 3}), more({.count = 9});
  EXPECT_EQ(few.picture(2).rgb, more.picture(2).rgb);
  expect_error([] { Scenes({.count = 0}); }, "the number of scenes is 0");
}

}  // namespace
}  // namespace lockstep::testing
