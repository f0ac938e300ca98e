// SPDX-License-Identifier: Apache-2.0
#include "data/detection/padded_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/detection/picture.h"
#include "lockstep/random.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// Sizes like COCO's: sides up to 640, mostly 3:4 or 4:3, scaled to 800 at the shorter side.
std::vector<PictureSize> usual_pictures(int64_t count, uint64_t seed) {
  PhiloxSequence random(seed, 1);
  std::vector<PictureSize> pictures;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t side = random.uniform() < 0.6 ? 480 : 320 + random.below(320);
    const bool wide = random.uniform() < 0.7;
    const PictureScale scale = scale_to(wide ? side : 640, wide ? 640 : side, 800, 1333);
    pictures.push_back({scale.height, scale.width});
  }
  return pictures;
}

int64_t pixels(const PaddedShapes& chosen) {
  int64_t sum = 0;
  for (const auto& shape : chosen.shapes) sum += shape.size.area() * shape.pictures;
  return sum;
}

// The minimum number of pixels over all choices of `most` shapes. A shape has a height and a width
// that occur.
int64_t best_pixels(const std::vector<PictureSize>& pictures, const PaddingRules& rules) {
  std::set<int64_t> heights, widths;
  for (const PictureSize& p : pictures) {
    heights.insert(padded(p.height, rules.stride));
    widths.insert(padded(p.width, rules.stride));
  }
  std::vector<PictureSize> corners;
  for (int64_t height : heights)
    for (int64_t width : widths) corners.push_back({height, width});
  int64_t best = std::numeric_limits<int64_t>::max();
  for (std::size_t a = 0; a < corners.size(); ++a)
    for (std::size_t b = a; b < corners.size(); ++b) {
      int64_t sum = 0;
      bool all = true;
      for (const PictureSize& p : pictures) {
        int64_t least = std::numeric_limits<int64_t>::max();
        for (std::size_t c : {a, b})
          if (corners[c].height >= p.height && corners[c].width >= p.width)
            least = std::min(least, corners[c].area());
        all = all && least < std::numeric_limits<int64_t>::max();
        if (all) sum += least;
      }
      if (all) best = std::min(best, sum);
    }
  return best;
}

TEST(PaddedShapes, CoverEveryPictureWithTheSmallestOfAFew) {
  for (std::size_t most : {1, 2, 3, 6, 12}) {
    const std::vector<PictureSize> pictures = usual_pictures(400, most);
    const PaddedShapes chosen = choose_shapes(pictures, {32, most, 16});
    EXPECT_LE(chosen.shapes.size(), most);
    ASSERT_EQ(chosen.of.size(), pictures.size());
    std::vector<int64_t> counts(chosen.shapes.size());
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const PictureSize& size = chosen.shapes[static_cast<std::size_t>(chosen.of[i])].size;
      EXPECT_TRUE(size.height >= pictures[i].height && size.width >= pictures[i].width);
      ++counts[static_cast<std::size_t>(chosen.of[i])];
    }
    for (std::size_t s = 0; s < counts.size(); ++s) {
      EXPECT_EQ(counts[s], chosen.shapes[s].pictures);
      EXPECT_GE(counts[s], 16);
      EXPECT_EQ(chosen.shapes[s].size.height % 32 + chosen.shapes[s].size.width % 32, 0);
    }
  }
}

TEST(PaddedShapes, MoreShapesMeanLessPadding) {
  const std::vector<PictureSize> pictures = usual_pictures(500, 3);
  double before = 1;
  for (std::size_t most : {1, 2, 4, 6, 12}) {
    const double padding = choose_shapes(pictures, {32, most, 1}).padding;
    EXPECT_LE(padding, before) << most;
    before = padding;
  }
  EXPECT_LT(choose_shapes(pictures, {32, 6, 8}).padding, 0.08);
}

// Merges are never undone, so the result may miss the best choice.
TEST(PaddedShapes, AreNearTheBestTwo) {
  double worst = 1, sum = 0;
  constexpr int kDraws = 40;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    PhiloxSequence random(seed, 2);
    std::vector<PictureSize> pictures;
    for (int i = 0; i < 12; ++i) pictures.push_back({1 + random.below(200), 1 + random.below(200)});
    const PaddingRules rules{32, 2, 1};
    const double ratio = static_cast<double>(pixels(choose_shapes(pictures, rules))) /
                         static_cast<double>(best_pixels(pictures, rules));
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LE(worst, 1.25);
  EXPECT_LE(sum / kDraws, 1.04);
}

TEST(PaddedShapes, DoNotDependOnTheOrder) {
  std::vector<PictureSize> pictures = usual_pictures(200, 5);
  const std::string text = choose_shapes(pictures, {32, 4, 8}).text();
  std::reverse(pictures.begin(), pictures.end());
  EXPECT_EQ(choose_shapes(pictures, {32, 4, 8}).text(), text);
}

TEST(PaddedShapes, SayWhatWasChosen) {
  const std::vector<PictureSize> pictures{{800, 1067}, {800, 1067}, {1067, 800}, {800, 1067}};
  EXPECT_EQ(choose_shapes(pictures, {}).text(),
            "2 shapes, 1.9 % padding: 800x1088 (3 pictures), 1088x800 (1 picture)");
  EXPECT_EQ(choose_shapes(pictures, {32, 6, 2}).text(),
            "1 shape, 27.9 % padding: 1088x1088 (4 pictures)");
  expect_error([] { choose_shapes({}, {}); }, "there is no picture");
}

}  // namespace
}  // namespace lockstep::testing
