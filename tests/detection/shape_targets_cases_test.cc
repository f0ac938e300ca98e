// SPDX-License-Identifier: Apache-2.0
// Compares masks and points of RoIs with Detectron's: tests/detection/shape_targets_cases.json.
// Boxes in the file are inclusive.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "tests/detection/cases.h"
#include "tests/support/golden.h"
#include "tests/support/naive_shapes.h"
#include "tests/support/naive_targets.h"

namespace lockstep::testing {
namespace {

using nlohmann::json;

const json& shape_cases() {
  static const json cases =
      json::parse(read_file(source_path("tests/detection/shape_targets_cases.json")));
  return cases;
}

TEST(DetectronTargets, OfMasks) {
  ASSERT_EQ(shape_cases().at("mask_targets").size(), 8u);
  for (const json& c : shape_cases().at("mask_targets")) {
    MaskOperands operands{
        of_floats(half_open(json::array({c.at("box")})), {1, 1, 4}), labels({3}, {1, 1}), {}, {}};
    std::vector<NaiveRing> rings;
    for (const json& polygon : c.at("polygons"))
      rings.push_back({3, 2 * static_cast<int64_t>(rings.size()), polygon});
    set_rings(operands, {rings}, 10);
    const int64_t side = c.at("M");
    const Literal found = results_of(mask_targets_case("mask", operands, {side})).at(0);
    ASSERT_EQ(found.dims(), (Dims{1, 1, side, side}));
    const auto cells = found.values<int64_t>();
    for (int64_t y = 0; y < side; ++y) {
      std::string row;
      for (int64_t x = 0; x < side; ++x) row += cells[y * side + x] == 1 ? '1' : '0';
      EXPECT_EQ(row, c.at("rows").at(static_cast<std::size_t>(y)).get<std::string>())
          << "row " << y << " of " << side << ", box " << c.at("box");
    }
  }
}

TEST(DetectronTargets, OfKeypoints) {
  const json& c = shape_cases().at("keypoint_targets");
  const auto objects = static_cast<int64_t>(c.at("keypoints").size());
  const auto kinds = static_cast<int64_t>(c.at("keypoints")[0][0].size());
  std::vector<float> points;
  std::vector<int64_t> matches;
  for (const json& object : c.at("keypoints")) {
    matches.push_back(static_cast<int64_t>(matches.size()));
    for (int64_t k = 0; k < kinds; ++k)
      for (const json& line : object) points.push_back(line.at(static_cast<std::size_t>(k)));
  }
  const int64_t size = c.at("heatmap_size");
  const OpCase here = keypoint_targets_case(
      "points", of_floats(half_open(c.at("rois")), {1, objects, 4}), labels(matches, {1, objects}),
      of_floats(points, {1, objects, kinds, 3}), {size});
  const Literal found = results_of(here).at(0);
  std::vector<int64_t> expected;
  for (std::size_t i = 0; i < c.at("locations").size(); ++i)
    for (std::size_t k = 0; k < c.at("locations")[i].size(); ++k)
      expected.push_back(c.at("weights")[i][k] > 0 ? c.at("locations")[i][k].get<int64_t>() : -1);
  EXPECT_EQ(found, Literal::of<int64_t>(expected, {1, objects, kinds}));
}

}  // namespace
}  // namespace lockstep::testing
