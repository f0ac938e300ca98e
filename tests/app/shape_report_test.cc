// SPDX-License-Identifier: Apache-2.0
// The detector part of report.html with masks and keypoints: scores of three kinds, pictures,
// mistakes by masks.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/report/detections.h"
#include "app/report/pictures.h"
#include "data/coco/masks.h"
#include "data/scenes/scenes.h"
#include "tests/support/occurrences.h"

namespace lockstep::testing {
namespace {

constexpr int32_t kBox = 1, kArrow = 3;  // categories; arrows have points

// Detections that are exactly the objects of generated scenes.
class ShapeReportTest : public ::testing::Test {
 protected:
  ShapeReportTest() : truth_(scenes_.annotations()) {
    for (const CocoObject& object : truth_.objects) {
      if (object.crowd) continue;
      found_.boxes.push_back({object.image, object.category, object.bbox, 0.875});
      found_.shapes.masks.push_back(mask_of(truth_, object));
      std::vector<float>& points = found_.shapes.keypoints.emplace_back();
      for (uint32_t i = 0; i < object.keypoints.count; ++i)
        points.push_back(
            i % 3 == 2 ? 1 : static_cast<float>(truth_.keypoints[object.keypoints.first + i]));
    }
    for (const CocoCategory& category : truth_.categories) tested_.classes.push_back(category.name);
  }

  Image picture(std::size_t image) const { return scenes_.picture(image); }
  std::string page() {
    tested_.scores = evaluate_boxes(truth_, found_.boxes);
    tested_.mask_scores = evaluate_masks(truth_, found_.boxes, found_.shapes.masks);
    tested_.keypoint_scores = evaluate_keypoints(truth_, found_.boxes, found_.shapes.keypoints,
                                                 std::vector<double>(5, 0.05));
    return html_of(tested_);
  }
  void expect_all(const std::string& text, const std::vector<std::string>& parts) const {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "missing '" << part << "'";
  }

  Scenes scenes_{SceneOptions{.count = 30}};
  Annotations truth_;
  ShownDetections found_;
  DetectionTested tested_;
  const ShownOptions options_{.masks = true, .keypoints = true};
};

TEST_F(ShapeReportTest, HasScoresOfThreeKinds) {
  const std::string text = page();
  expect_all(text, {"<h2>Average precision of boxes</h2>", "<h2>Average precision of masks</h2>",
                    "<h2>Average precision of keypoints</h2>", "AP at similarity 0.5<",
                    "AR of 20 detections", ">Precision of boxes<", ">Precision of masks<",
                    ">Precision of keypoints<", "\nsimilarity 0.5 1\n0.75 1\n0.9 1<",
                    "<td>box AP</td><td>mask AP</td><td>keypoint AP</td><td>box AP50</td>",
                    "more, by their masks."});
  EXPECT_EQ(occurrences(text, "<b>1.000</b><span>AP</span>"), 3);
  EXPECT_EQ(occurrences(text, "AP, small objects"), 2) << "keypoints have no small objects";
  const std::string bar = "</th><td class=\"bar\"><i style=\"width:100%\"></i></td>";
  expect_all(text, {"<th>arrow" + bar + "<td>1.000</td><td>1.000</td><td>1.000</td>",
                    "<th>disc" + bar + "<td>1.000</td><td>1.000</td><td>-</td>"});
}

TEST_F(ShapeReportTest, HasTheKindsThatAreScored) {
  page();
  tested_.keypoint_scores = {};
  const std::string masks = html_of(tested_);
  EXPECT_EQ(masks.find("keypoint"), std::string::npos);
  expect_all(masks, {"<td>box AP</td><td>mask AP</td><td>box AP50</td>"});
  page();
  tested_.mask_scores = {};
  const std::string points = html_of(tested_);
  EXPECT_EQ(points.find("mask"), std::string::npos);
  expect_all(points, {"<td>box AP</td><td>keypoint AP</td><td>box AP50</td>"});
}

TEST_F(ShapeReportTest, ShowsMasksAndPointsOfObjectsAndDetections) {
  std::size_t hollow = 0, crowds = 0, arrows = 0;
  for (std::size_t image = 0; image < truth_.images.size(); ++image) {
    const ShownScene scene = shown_scene(truth_, image, found_, picture(image), options_);
    const auto objects = truth_.objects_of(image);
    ASSERT_EQ(scene.truth.size(), objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const DrawnBox& box = scene.truth[i];
      EXPECT_EQ(box.mask, mask_of(truth_, objects[i]));
      EXPECT_TRUE(box.filled);
      EXPECT_EQ(box.dashed, objects[i].crowd);
      crowds += objects[i].crowd ? 1 : 0;
      const bool is_arrow = objects[i].keypoints.count > 0;
      EXPECT_EQ(box.points.size(), is_arrow ? 5U : 0U);
      EXPECT_EQ(box.limbs.size(), is_arrow ? 5U : 0U);
      for (std::size_t k = 0; k < box.points.size(); ++k) {
        const double* point = &truth_.keypoints[objects[i].keypoints.first + 3 * k];
        EXPECT_EQ(box.points[k].x, static_cast<float>(point[0]) + 0.5F) << "the middle of a pixel";
        EXPECT_EQ(box.points[k].mark, point[2] == 1 ? PointMark::hollow : PointMark::filled);
        hollow += point[2] == 1 ? 1 : 0;
      }
    }
    for (const DrawnBox& box : scene.found) {
      EXPECT_TRUE(has_mask(box));
      EXPECT_EQ(box.points.size(), box.colour == std::size_t{kArrow} ? 5U : 0U);
      for (const DrawnPoint& point : box.points) EXPECT_EQ(point.mark, PointMark::filled);
      arrows += box.colour == std::size_t{kArrow} ? 1 : 0;
    }
  }
  EXPECT_GT(hollow, 0U);
  EXPECT_GT(crowds, 0U);
  EXPECT_GT(arrows, 0U);
  const ShownScene plain = shown_scene(truth_, 0, {found_.boxes}, picture(0));
  for (const auto* boxes : {&plain.truth, &plain.found})
    for (const DrawnBox& box : *boxes) EXPECT_TRUE(!has_mask(box) && box.points.empty());
}

TEST_F(ShapeReportTest, DrawsThemOnPagesWithNamesInHtml) {
  truth_.categories[0].name = "<i>cats</i> & \"dogs\"";
  tested_.classes[0] = truth_.categories[0].name;
  ShownOptions small = options_;
  small.side = 50;
  for (std::size_t image = 0; image < 8; ++image)
    for (const ShownOptions& options : {options_, small}) {
      tested_.scenes.push_back(shown_scene(truth_, image, found_, picture(image), options));
      const ShownScene& scene = tested_.scenes.back();
      for (const DrawnBox& box : scene.truth) EXPECT_EQ(box.mask.width, scene.image.width);
    }
  const std::string text = page();
  EXPECT_EQ(occurrences(text, "<img "), 32);
  EXPECT_EQ(text.find("<i>cats"), std::string::npos);
  expect_all(text, {" masks, ", " with keypoints\"", "Hidden points of objects have a dark"});
}

// A good box with the upper third of its mask.
TEST_F(ShapeReportTest, ShowsMistakesByMasks) {
  const auto size = [](const Detection& each) { return each.category == kBox ? each.bbox[3] : 0; };
  const auto largest =
      std::max_element(found_.boxes.begin(), found_.boxes.end(),
                       [&](const auto& a, const auto& b) { return size(a) < size(b); });
  const auto number = static_cast<std::size_t>(largest - found_.boxes.begin());
  RunLengths& mask = found_.shapes.masks[number];
  std::vector<uint8_t> bitmap = bitmap_of(mask);
  const auto middle = static_cast<std::size_t>(largest->bbox[1] + largest->bbox[3] / 3);
  std::fill(bitmap.begin() + static_cast<std::ptrdiff_t>(middle * Scenes::kSide), bitmap.end(), 0);
  mask = mask_of_bitmap(bitmap, mask.height, mask.width);
  EXPECT_TRUE(find_mistakes(truth_, found_.boxes).wrong.empty());
  const CocoMistakes mistakes = find_mask_mistakes(truth_, found_.boxes, found_.shapes.masks);
  ASSERT_EQ(mistakes.wrong.size(), 1U);
  const CocoMistake& wrong = mistakes.wrong[0];
  ASSERT_EQ(wrong.detection, static_cast<int64_t>(number));
  const ShownMistake shown = shown_mistake(
      wrong, truth_, found_, picture(static_cast<std::size_t>(wrong.image)), options_);
  ASSERT_EQ(shown.boxes.size(), 2U);
  const DrawnBox &object = shown.boxes[0], &detection = shown.boxes[1];
  EXPECT_TRUE(object.dashed && !object.filled && has_mask(object));
  EXPECT_TRUE(!detection.dashed && detection.filled && has_mask(detection));
  EXPECT_EQ(detection.mask.width, shown.image.width);
  EXPECT_NE(detection.mask, object.mask);
  tested_.mistakes = {shown};
  expect_all(page(), {"Only masks of detections are filled.", "badly placed", ", overlap 0."});
}

// A mask without a pixel, a box without an area, points outside the picture, an object without a
// mask.
TEST_F(ShapeReportTest, ShowsOddDetections) {
  const CocoImage& image = truth_.images[0];
  found_ = {};
  found_.boxes = {{0, 0, {20, 20, 30, 30}, 0.9}, {0, kArrow, {5, 5, 0, 0}, 0.8}};
  const auto empty = static_cast<uint32_t>(image.height * image.width);
  found_.shapes.masks = {{image.height, image.width, {empty}},
                         {image.height, image.width, {empty}}};
  found_.shapes.keypoints = {{}, {-50, 3, 1, 500, 3, 1, 3, 1e30F, 1, 20, 20, 1, 30, 40, 1}};
  for (CocoObject& object : truth_.objects)
    if (object.image == 0) {
      object.polygons = {};
      object.mask = -1;
    }
  const ShownScene scene = shown_scene(truth_, 0, found_, picture(0), options_);
  EXPECT_FALSE(has_mask(scene.truth.at(0)));
  EXPECT_TRUE(has_mask(scene.found.at(1)));
  EXPECT_EQ(occurrences(html_of(std::vector{scene}), "<img "), 2);
}

}  // namespace
}  // namespace lockstep::testing
