// SPDX-License-Identifier: Apache-2.0
// Masks pasted into pictures and points of heatmaps: Detectron's cases in
// tests/detection/found_shapes_cases.json, whose boxes are inclusive, and naive references.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/detection/shapes/found_points.h"
#include "app/detection/shapes/pasted_mask.h"
#include "data/coco/masks.h"
#include "data/coco/rle.h"
#include "graph/file.h"
#include "lockstep/random.h"
#include "tests/detection/cases.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

using nlohmann::json;

const json& found_cases() {
  static const json cases =
      json::parse(read_file(source_path("tests/detection/found_shapes_cases.json")));
  return cases;
}

Corners as_half_open(const json& inclusive) {
  const std::vector<float> box = half_open(json::array({inclusive}));
  return {box[0], box[1], box[2], box[3]};
}

std::vector<float> filled_square(int64_t side, const std::function<double(double, double)>& at) {
  std::vector<float> values;
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x)
      values.push_back(static_cast<float>(at(static_cast<double>(y), static_cast<double>(x))));
  return values;
}

double naive_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// -- masks

TEST(PastedMasks, AreDetectrons) {
  const json& c = found_cases().at("pasted_masks");
  const std::vector<std::vector<float>> masks{
      filled_square(28,
                    [](double y, double x) {
                      return naive_sigmoid((9 - std::hypot(y - 13.5, x - 13.5)) / 2);
                    }),
      filled_square(28, [](double y, double x) {
        return naive_sigmoid((8 - std::abs(y - 10) - std::abs(x - 15)) / 2);
      })};
  const PictureSize picture{c.at("image")[0], c.at("image")[1]};
  ASSERT_EQ(c.at("boxes").size(), masks.size());
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const RunLengths found =
        pasted_mask(masks[i], 28, as_half_open(c.at("boxes")[i]), picture, 0.5);
    EXPECT_EQ(encode_run_lengths(found.counts), c.at("rle")[i].get<std::string>());
    EXPECT_EQ(area_of(found), c.at("area")[i].get<int64_t>());
    check_run_lengths(found);
  }
}

// The probability of a pixel, in double, or -1 outside of the pasted box.
double naive_probability(const std::vector<float>& mask, int64_t resolution, const Corners& box,
                         int64_t y, int64_t x) {
  const auto side = static_cast<double>(resolution + 2);
  const auto along = [&](double first, double end, int64_t at) {
    const double middle = (first + end - 1) / 2,
                 half = (end - 1 - first) / 2 * side / static_cast<double>(resolution);
    const double from = std::trunc(middle - half), to = std::trunc(middle + half);
    const double pixels = std::max(to - from + 1, 1.0);
    const double place = static_cast<double>(at) - from;
    if (place < 0 || static_cast<double>(at) > to) return std::numeric_limits<double>::quiet_NaN();
    return (place + 0.5) / pixels * side - 0.5;
  };
  const double row = along(box[1], box[3], y), column = along(box[0], box[2], x);
  if (std::isnan(row) || std::isnan(column)) return -1;
  const auto cell = [&](double r, double c) -> double {
    const auto i = static_cast<int64_t>(r) - 1, j = static_cast<int64_t>(c) - 1;
    const bool inside = i >= 0 && j >= 0 && i < resolution && j < resolution;
    return inside ? mask[i * resolution + j] : 0;
  };
  const double r = std::floor(row), c = std::floor(column), dy = row - r, dx = column - c;
  return (1 - dy) * ((1 - dx) * cell(r, c) + dx * cell(r, c + 1)) +
         dy * ((1 - dx) * cell(r + 1, c) + dx * cell(r + 1, c + 1));
}

// Boxes of all sizes, from a fraction of a pixel on, within the picture and around it.
TEST(PastedMasks, AreInterpolatedInTheBox) {
  PhiloxSequence random(1, 2);
  const auto drawn = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random.below(1 << 20)) / (1 << 20);
  };
  int64_t set = 0;
  for (int round = 0; round < 60; ++round) {
    const int64_t resolution = 1 + random.below(20);
    const PictureSize picture{1 + static_cast<int64_t>(random.below(50)),
                              1 + static_cast<int64_t>(random.below(70))};
    std::vector<float> mask;
    for (int64_t i = 0; i < resolution * resolution; ++i)
      mask.push_back(static_cast<float>(drawn(0, 1)));
    Corners box;
    for (const std::size_t side : {0, 1}) {
      const auto from = static_cast<float>(drawn(-20, 60));
      box[side] = from;
      box[side + 2] = from + static_cast<float>(drawn(0.1, round % 3 == 0 ? 3 : 60));
    }
    const double threshold = drawn(0.2, 0.6);
    const RunLengths found = pasted_mask(mask, resolution, box, picture, threshold);
    check_run_lengths(found);
    const std::vector<uint8_t> bitmap = bitmap_of(found);
    for (int64_t y = 0; y < picture.height; ++y)
      for (int64_t x = 0; x < picture.width; ++x) {
        const double expected = naive_probability(mask, resolution, box, y, x);
        const bool here = bitmap[y * picture.width + x] != 0;
        set += here ? 1 : 0;
        if (std::abs(expected - threshold) < 1e-5) continue;  // the rounding of float32
        ASSERT_EQ(here, expected > threshold)
            << "round " << round << ", pixel " << y << ", " << x << ": " << expected;
      }
  }
  EXPECT_GT(set, 1000);
}

TEST(PastedMasks, MayBeEmptyOrFullOrOutsideOfThePicture) {
  const std::vector<float> full(16, 1), empty(16, 0);
  EXPECT_EQ(pasted_mask(full, 4, {0, 0, 4, 4}, {3, 3}, 0.05).counts, (std::vector<uint32_t>{0, 9}));
  EXPECT_EQ(pasted_mask(empty, 4, {0, 0, 4, 4}, {3, 5}, 0.4).counts, (std::vector<uint32_t>{15}));
  for (const Corners& away :
       {Corners{50, 0, 60, 5}, Corners{0, 90, 5, 99}, Corners{-60, -60, -50, -50}})
    EXPECT_EQ(pasted_mask(full, 4, away, {20, 30}, 0.4).counts, (std::vector<uint32_t>{600}));
  // Larger than the threshold, not equal.
  EXPECT_EQ(area_of(pasted_mask(std::vector<float>(16, 0.5F), 4, {2, 2, 12, 12}, {20, 20}, 0.5)),
            0);
}

TEST(PastedMasks, OfOtherSizesOrBoxesAreRefused) {
  const std::vector<float> mask(16, 1);
  expect_error(
      [&] {
        pasted_mask(mask, 5, {0, 0, 4, 4}, {9, 9}, 0.5);
      },
      "a mask of 16 numbers, should be 5 x 5");
  expect_error([&] { pasted_mask({}, 0, {0, 0, 4, 4}, {9, 9}, 0.5); }, "a mask of 0 numbers");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e30F})
    expect_error(
        [&] {
          pasted_mask(mask, 4, {0, 0, bad, 4}, {9, 9}, 0.5);
        },
        "a mask cannot be drawn in a box of 0, 0, ");
  expect_error(
      [&] {
        pasted_mask(mask, 4, {0, 0, 4, 4}, {1 << 20, 1 << 20}, 0.5);
      },
      "a picture of 1048576 x 1048576 pixels is too large for a mask");
}

// -- points

// The cases have the cells of the peaks and not the centres, which are no whole numbers. Here are
// the centres, row and column, for which a NumPy version of the rule gives Detectron's logits and
// probabilities; the coordinates are Detectron's.
constexpr double kCentres[2][4][2] = {{{8.005039375561346, 20.098874683499282},
                                       {42.88760140476741, 13.13204582111081},
                                       {35.43638393600838, 19.219433786438415},
                                       {27.912071920855187, 10.040599457812347}},
                                      {{29.642643751338426, 37.72068798618159},
                                       {49.513281749855445, 36.3304163627711},
                                       {17.815874498487492, 4.982959683103189},
                                       {25.953833782958302, 34.78761902285041}}};

TEST(FoundPoints, AreDetectrons) {
  const json& c = found_cases().at("heatmaps_to_keypoints");
  ASSERT_EQ(c.at("rois").size(), 2U);
  for (std::size_t i = 0; i < c.at("rois").size(); ++i) {
    std::vector<float> heatmaps;
    for (std::size_t k = 0; k < 4; ++k) {
      const double cy = kCentres[i][k][0], cx = kCentres[i][k][1];
      EXPECT_NEAR(cy, c.at("peaks")[i][k][0].get<double>(), 1.1);
      EXPECT_NEAR(cx, c.at("peaks")[i][k][1].get<double>(), 1.1);
      for (const float value : filled_square(56, [&](double y, double x) {
             return 8 * std::exp(-((y - cy) * (y - cy) + (x - cx) * (x - cx)) / 18);
           }))
        heatmaps.push_back(value);
    }
    const auto found = found_points(heatmaps, 4, 56, as_half_open(c.at("rois")[i]), 0);
    ASSERT_EQ(found.size(), 4U);
    const json& expected = c.at("xy_logit_prob")[i];
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].x, expected[0][k].get<float>());
      EXPECT_EQ(found[k].y, expected[1][k].get<float>());
      EXPECT_NEAR(found[k].logit, expected[2][k].get<float>(), 2e-6);
      EXPECT_NEAR(found[k].probability, expected[3][k].get<float>(), 2e-7);
    }
  }
}

std::vector<float> peak_at(int64_t size, int64_t row, int64_t column) {
  std::vector<float> heatmap(static_cast<std::size_t>(size * size));
  heatmap[row * size + column] = 20;
  return heatmap;
}

// From the box's first to its last pixel there are as many pixels as cells.
TEST(FoundPoints, LieInTheMiddleOfTheBestCell) {
  const Corners box{3, 5, 3 + 10 + 1, 5 + 10 + 1};
  for (int64_t row = 0; row < 10; row += 3)
    for (int64_t column = 0; column < 10; ++column) {
      const FoundPoint point = found_points(peak_at(10, row, column), 1, 10, box, 0).at(0);
      EXPECT_EQ(point.x, 3.5F + static_cast<float>(column));
      EXPECT_EQ(point.y, 5.5F + static_cast<float>(row));
      EXPECT_EQ(point.logit, 20);
      EXPECT_GT(point.probability, 0.999F);
    }
}

// KeypointTargets puts a point into the cell floor((x - x1) S / w), where w is a pixel less than
// the width of the half-open box. The point found in a heatmap with this cell is as near as a cell
// and a pixel are wide.
TEST(FoundPoints, InvertTheTargetsOfTraining) {
  PhiloxSequence random(5, 1);
  const int64_t size = 14;
  for (int round = 0; round < 200; ++round) {
    const auto left = static_cast<float>(random.below(400)) / 8,
               wide = 20 + static_cast<float>(random.below(800)) / 8;
    const float frame = std::max(wide - 1, 1.0F);
    const float x = left + frame * static_cast<float>(random.below(1000)) / 1000;
    const auto cell = static_cast<int64_t>(std::floor((x - left) * (size / frame)));
    ASSERT_LT(cell, size);
    const FoundPoint point =
        found_points(peak_at(size, cell, cell), 1, size, {left, left, left + wide, left + wide}, 0)
            .at(0);
    EXPECT_NEAR(point.x, x, frame / size + 1) << left << " to " << left + wide;
    EXPECT_EQ(point.x, point.y);
  }
}

TEST(FoundPoints, AreTheFirstOfEqualCells) {
  const std::vector<float> flat(2 * 6 * 6, 0);
  const auto points = found_points(flat, 2, 6, {10, 20, 19, 25}, 0);
  ASSERT_EQ(points.size(), 2U);
  for (const FoundPoint& point : points) {
    EXPECT_EQ(point.x, 10.5F);
    EXPECT_EQ(point.y, 20.5F);
    EXPECT_EQ(point.logit, 0);
    EXPECT_NEAR(point.probability, 1.0 / (8 * 4), 1e-5);
  }
}

// Sides of 4.5 and 2.25 pixels become 5 and 3 cells, or 12 cells.
TEST(FoundPoints, AreFoundOnAtLeastSoManyCells) {
  const Corners box{0, 0, 5.5F, 3.25F};
  const auto found = [&](double least) {
    return found_points(peak_at(4, 0, 0), 1, 4, box, least).at(0);
  };
  EXPECT_FLOAT_EQ(found(0).x, 0.5F * 4.5F / 5);
  EXPECT_FLOAT_EQ(found(0).y, 0.5F * 2.25F / 3);
  EXPECT_EQ(found(2), found(0)) << "both sides have more cells";
  const FoundPoint fine = found(12.7);  // 12 cells, as Detectron
  EXPECT_FLOAT_EQ(std::fmod(fine.x, 4.5F / 12), 0.5F * 4.5F / 12);
  EXPECT_FLOAT_EQ(std::fmod(fine.y, 2.25F / 12), 0.5F * 2.25F / 12);
}

TEST(FoundPoints, MayBeInABoxOfAPixel) {
  for (const Corners& box : {Corners{7, 8, 7.25F, 8.25F}, Corners{7, 8, 8, 9}}) {
    const FoundPoint point = found_points(peak_at(4, 2, 1), 1, 4, box, 0).at(0);
    EXPECT_EQ(point.x, 7.5F);
    EXPECT_EQ(point.y, 8.5F);
    EXPECT_EQ(point.probability, 1);
  }
  EXPECT_TRUE(found_points({}, 0, 4, {1, 2, 3, 4}, 0).empty());
}

TEST(FoundPoints, OfOtherSizesOrBoxesAreRefused) {
  const std::vector<float> heatmaps(32, 1);
  expect_error(
      [&] {
        found_points(heatmaps, 3, 4, {0, 0, 4, 4}, 0);
      },
      "heatmaps of 32 numbers, should be 3 x 4 x 4");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e9F})
    expect_error(
        [&] {
          found_points(heatmaps, 2, 4, {0, 0, 4, bad}, 0);
        },
        "points cannot be found in a box of 0, 0, 4, ");
}

}  // namespace
}  // namespace lockstep::testing
