// SPDX-License-Identifier: Apache-2.0
// Masks and heatmaps of several views, joined: tests/detection/merged_shapes_cases.json, computed
// with NumPy by tests/python/merged_shapes_cases.py. The boxes that need a view.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/detection/shapes/picture_shapes.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

using Json = nlohmann::json;

const Json& shape_cases_of_views() {
  static const Json cases =
      Json::parse(read_file(source_path("tests/detection/merged_shapes_cases.json")));
  return cases;
}

void append_all(const Json& value, std::vector<float>& numbers) {
  if (value.is_number()) return numbers.push_back(value.get<float>());
  for (const Json& item : value) append_all(item, numbers);
}

void read_views(const Json& rules, TestAugmentation& views) {
  views.enabled = rules["enabled"];
  views.h_flip = rules.value("h_flip", false);
  views.scales = rules.value("scales", std::vector<int64_t>{});
  views.max_size = rules.value("max_size", int64_t{4000});
  views.scale_h_flip = rules.value("scale_h_flip", false);
  views.aspect_ratios = rules.value("aspect_ratios", std::vector<double>{});
  views.aspect_ratio_h_flip = rules.value("aspect_ratio_h_flip", false);
}

// A network with heads of the sizes of the cases.
DetectorConfig config_of_cases() {
  const Json& all = shape_cases_of_views();
  DetectorConfig config;
  config.network.test.scale = all["scale"];
  config.network.test.max_size = all["longest"];
  config.network.mrcnn.resolution = config.network.krcnn.heatmap_size = all["side"];
  config.network.krcnn.num_keypoints = all["keypoints"];
  return config;
}

DetectorConfig config_of_case(const Json& test) {
  DetectorConfig config = config_of_cases();
  const Json& views = shape_cases_of_views()["sets"][test["views"].get<std::string>()];
  if (test.contains("masks")) {
    config.network.model.mask_on = true;
    read_views(views, config.test.mask_aug);
    config.test.mask_aug.heur = test["heuristic"];
  } else {
    config.network.model.keypoints_on = true;
    KeypointAugmentation& points = config.test.kps_aug;
    read_views(views, points);
    points.heur = test["heuristic"];
    points.scale_size_dep = !test["area_th"].is_null();
    if (points.scale_size_dep) points.area_th = test["area_th"];
  }
  return config;
}

KeypointRules rules_of_cases() {
  KeypointRules rules;
  for (const Json& pairs : shape_cases_of_views()["pairs"])
    rules.classes.push_back(pairs.is_null() ? std::nullopt
                                            : std::optional(pairs.get<KeypointPairs>()));
  return rules;
}

FoundBoxes boxes_of_cases() {
  const Json& all = shape_cases_of_views();
  FoundBoxes boxes;
  for (std::size_t i = 0; i < all["boxes"].size(); ++i)
    boxes.push_back({all["boxes"][i].get<Corners>(), 1, all["kinds"][i].get<int64_t>()});
  return boxes;
}

// The outputs of the cases for some boxes of a view.
HeadOutputs outputs_in(const ViewRules& view, const std::vector<std::size_t>& which) {
  const Json& outputs = shape_cases_of_views()["outputs"].at(
      join(view.scale, "/", view.longest, " x", view.widening, view.mirrored ? " mirrored" : ""));
  HeadOutputs rows;
  for (const std::size_t box : which) {
    append_all(outputs["masks"][box], rows.masks);
    append_all(outputs["heatmaps"][box], rows.heatmaps);
  }
  return rows;
}

HeadOutputs joined_here(const ShapeViews& views, const FoundBoxes& boxes,
                        std::vector<std::size_t>& places) {
  PictureShapes shapes(views, boxes);
  for (const ShapeView& kind : views.views()) {
    const View view(kind.rules, {80, 100});
    const BoxesInView in = boxes_in(views, kind, view, boxes);
    for (std::size_t i = 0; i < in.which.size(); ++i) {
      EXPECT_EQ(in.boxes[i], view.in_view(boxes[in.which[i]].corners));
      EXPECT_EQ(in.classes[i], boxes[in.which[i]].kind);
    }
    shapes.add(kind, in.which, outputs_in(kind.rules, in.which));
  }
  places = shapes.places();
  return shapes.joined();
}

TEST(MergedShapes, AreThoseOfNumPy) {
  const FoundBoxes boxes = boxes_of_cases();
  ASSERT_GE(shape_cases_of_views()["cases"].size(), 40U);
  for (const Json& test : shape_cases_of_views()["cases"]) {
    SCOPED_TRACE(join(test["views"].get<std::string>(), " ", test["heuristic"].get<std::string>(),
                      " ", test.value("area_th", Json()).dump()));
    const DetectorConfig config = config_of_case(test);
    std::vector<std::size_t> places;
    const HeadOutputs outputs = joined_here(ShapeViews(config, rules_of_cases()), boxes, places);
    const bool masks = test.contains("masks");
    EXPECT_EQ(places,
              masks ? (std::vector<std::size_t>{0, 1, 2, 3}) : (std::vector<std::size_t>{1, 2, 3}));
    std::vector<float> expected;
    append_all(masks ? test["masks"] : test["heatmaps"], expected);
    const std::vector<float>& found = masks ? outputs.masks : outputs.heatmaps;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  }
}

// With both heads, rows of masks and heatmaps are of the same boxes; a box without points has
// zeros.
TEST(MergedShapes, OfBothHeadsAreInStep) {
  DetectorConfig config = config_of_cases();
  config.network.model.mask_on = config.network.model.keypoints_on = true;
  const FoundBoxes boxes = boxes_of_cases();
  std::vector<std::size_t> places;
  const HeadOutputs outputs = joined_here(ShapeViews(config, rules_of_cases()), boxes, places);
  EXPECT_EQ(places.size(), 4U);
  ASSERT_EQ(outputs.masks.size(), 4U * 9);
  ASSERT_EQ(outputs.heatmaps.size(), 4U * 36);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(outputs.heatmaps[i], 0);
  const HeadOutputs of_last = outputs_in({60, 100}, {3});
  EXPECT_TRUE(std::equal(of_last.masks.begin(), of_last.masks.end(), &outputs.masks[27]));
  EXPECT_TRUE(std::equal(of_last.heatmaps.begin(), of_last.heatmaps.end(), &outputs.heatmaps[108]));
}

TEST(ShapeViews, ServeMasksAndPointsOnce) {
  DetectorConfig config = config_of_cases();
  config.network.model.mask_on = config.network.model.keypoints_on = true;
  config.test.mask_aug.enabled = config.test.mask_aug.h_flip = true;
  config.test.kps_aug.enabled = true;
  config.test.kps_aug.scales = {40, 60};
  config.test.kps_aug.max_size = 100;
  std::vector<std::string> said;
  const ShapeViews shown(config, {});
  for (const ShapeView& view : shown.views())
    said.push_back(join(view.rules.scale, view.rules.mirrored ? " mirrored" : "",
                        view.of_masks ? " masks" : "", view.of_points ? " points" : ""));
  // Detectron counts a scale that is the plain view's twice.
  EXPECT_EQ(said, (std::vector<std::string>{"60 mirrored masks", "60 masks points", "40 points",
                                            "60 points"}));
}

TEST(ShapeViews, KnowWhetherOneViewServesForEverything) {
  DetectorConfig config = config_of_cases();
  config.network.model.mask_on = true;
  const auto one = [&] { return ShapeViews(config, {}).one_view_for_all(); };
  EXPECT_TRUE(one());
  config.test.kps_aug.enabled = true;
  EXPECT_TRUE(one()) << "there is no keypoint head";
  config.test.mask_aug.enabled = true;
  EXPECT_FALSE(one());
  config.test.mask_aug.enabled = false;
  config.test.bbox_aug.enabled = true;
  EXPECT_FALSE(one());
}

TEST(MergedShapes, OfOtherSizesAreRefused) {
  MergedShapes merged(mask_heuristics().front(), 2, 4);
  const std::vector<float> three(3), four(4);
  expect_error([&] { merged.add(0, three); }, "a view shows 3 numbers of a box, should be 4");
  merged.add(0, four);
  expect_error([&] { merged.of(1); }, "box 1 is in no view");
  expect_error(
      [&] {
        mirrored_back(four, 2, {{0, 1}});
      },
      "points 0 and 1 change places in mirrored pictures, but there are 1 points");
  expect_error([&] { shape_heuristic(mask_heuristics(), "HM_AVG"); },
               "no heuristic is called 'HM_AVG'");
}

// -- runs

TEST(ShapeRuns, HaveFewPlacesForAllBoxes) {
  const auto places = [](std::size_t boxes) {
    std::vector<int64_t> each;
    std::size_t next = 0;
    for (const ShapeRun& run : shape_runs(boxes)) {
      EXPECT_EQ(run.first, next);
      EXPECT_GE(run.count, 1U);
      EXPECT_LE(run.count, static_cast<std::size_t>(run.places));
      next += run.count;
      each.push_back(run.places);
    }
    EXPECT_EQ(next, boxes);
    return each;
  };
  using Places = std::vector<int64_t>;
  EXPECT_EQ(places(0), Places{});
  EXPECT_EQ(places(1), (Places{4}));
  EXPECT_EQ(places(5), (Places{4, 4}));
  EXPECT_EQ(places(13), (Places{16}));
  EXPECT_EQ(places(17), (Places{16, 4}));
  EXPECT_EQ(places(48), (Places{16, 16, 16}));
  EXPECT_EQ(places(49), (Places{64}));
  EXPECT_EQ(places(70), (Places{64, 4, 4}));
  EXPECT_EQ(places(100), (Places{64, 16, 16, 4}));
  for (std::size_t boxes = 1; boxes < 400; ++boxes) {
    const Places each = places(boxes);
    int64_t all = 0;
    for (const int64_t of_run : each) all += of_run;
    EXPECT_LT(3 * (all - 3), 4 * static_cast<int64_t>(boxes)) << boxes;
    EXPECT_TRUE(std::is_sorted(each.rbegin(), each.rend())) << "programs change seldom";
  }
}

}  // namespace
}  // namespace lockstep::testing
