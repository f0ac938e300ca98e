// SPDX-License-Identifier: Apache-2.0
// Masks of scores and labels, drawn over pictures, and pictures beside each other in the report.
#include <gtest/gtest.h>

#include <cmath>

#include "app/arrays/pictures_of_rows.h"
#include "app/draw/colours.h"
#include "app/draw/masks.h"
#include "app/report/comparisons.h"
#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"
#include "tests/support/occurrences.h"

namespace lockstep::testing {
namespace {

template <class T>
Literal row_of(const std::vector<T>& values, const Dims& dims) {
  return Literal::of<T>(values, dims);
}

TEST(Masks, AreTheBestClassesOfScores) {
  const Literal scores = row_of<float>({1, 5, 3, 2, 5, 4}, {1, 3, 1, 2});
  EXPECT_EQ(mask_of_scores(view_of(scores), 0).values, (std::vector<uint8_t>{2, 0}));
  const Literal tied = row_of<float>({1, 1, NAN, 1}, {1, 2, 1, 2});
  EXPECT_EQ(mask_of_scores(view_of(tied), 0).values, (std::vector<uint8_t>{0, 0}));
  const Literal one = row_of<float>({0.4F, 0.6F, NAN, 0.5F}, {1, 1, 2, 2});
  const PngValues mask = mask_of_scores(view_of(one), 0.5);
  EXPECT_EQ(mask.height, 2);
  EXPECT_EQ(mask.width, 2);
  EXPECT_EQ(mask.values, (std::vector<uint8_t>{0, 1, 0, 0}));
  const Literal many(DType::float32, {1, 300, 1, 1});
  expect_error([&] { mask_of_scores(view_of(many), 0); }, "300 classes", "255");
}

TEST(Masks, AreLabelsWithPlacesWithoutClass) {
  const Literal labels = row_of<int64_t>({0, 3, -100, 255, 300, 7}, {1, 2, 3});
  EXPECT_EQ(mask_of_labels(view_of(labels), 7).values,
            (std::vector<uint8_t>{0, 3, kNoClass, kNoClass, kNoClass, kNoClass}));
}

TEST(Masks, LieOverPictures) {
  const Image picture{1, 3, {100, 100, 100, 100, 100, 100, 100, 100, 100}};
  const Image image = overlaid(picture, {1, 3, {0, 2, kNoClass}});
  EXPECT_EQ(image.rgb[0], 100);
  const Colour colour = class_colour(2);
  EXPECT_NEAR(image.rgb[3], 45 + 0.55 * 255 * colour.red, 1);
  EXPECT_NEAR(image.rgb[4], 45 + 0.55 * 255 * colour.green, 1);
  EXPECT_NEAR(image.rgb[5], 45 + 0.55 * 255 * colour.blue, 1);
  EXPECT_GT(image.rgb[6], 150);
  expect_error([&] { overlaid(picture, {1, 2, {0, 0}}); }, "2 x 1", "3 x 1");
}

TEST(Masks, AreResizedWithoutNewClasses) {
  const PngValues mask{2, 2, {1, 2, 3, 4}};
  EXPECT_EQ(resized_mask(mask, 2, 2).values, mask.values);
  EXPECT_EQ(resized_mask(mask, 4, 4).values,
            (std::vector<uint8_t>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  EXPECT_EQ(resized_mask(resized_mask(mask, 6, 10), 2, 2).values, mask.values);
}

TEST(Masks, HaveAPaletteOfDistinctColours) {
  const auto palette = mask_palette();
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(palette[c], 0);
  for (std::size_t label = 1; label < 20; ++label)
    EXPECT_GT(palette[3 * label] + palette[3 * label + 1] + palette[3 * label + 2], 100);
}

TEST(PicturesInRows, ShowTheirRange) {
  const Literal row = row_of<float>({-1, 0, 1, NAN}, {1, 1, 2, 2});
  const LightRange range = range_of(view_of(row));
  EXPECT_EQ(range.low, -1);
  EXPECT_EQ(range.high, 1);
  const Image image = picture_in(view_of(row), range);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255, 0, 0, 0}));
  const Literal flat = row_of<float>({3, 3}, {1, 1, 1, 2});
  EXPECT_EQ(picture_in(view_of(flat), range_of(view_of(flat))).rgb[0], 128);
  const Literal colours = row_of<float>({0, 0.5F, 1}, {1, 3, 1, 1});
  const Preparation made{3, 1, 1, 1, {0, 0, 0}, {1, 1, 1}};
  EXPECT_EQ(picture_in(view_of(colours), made).rgb, (std::vector<uint8_t>{0, 128, 255}));
}

TEST(Comparisons, StandBesideEachOther) {
  const Image image{8, 8, std::vector<uint8_t>(3 * 8 * 8, 90)};
  const std::string html =
      html_of(std::vector<ShownComparison>{{image, image, image, "<a>.png", "iou 81.20 %"}});
  EXPECT_EQ(occurrences(html, "<img "), 3);
  EXPECT_EQ(html.find("<a>"), std::string::npos);
  EXPECT_NE(html.find("&lt;a&gt;.png"), std::string::npos);
  EXPECT_NE(html.find("iou 81.20 %"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::testing
