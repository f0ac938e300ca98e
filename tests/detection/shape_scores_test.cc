// SPDX-License-Identifier: Apache-2.0
// Scores and files of masks and keypoints that a test has found.
#include <gtest/gtest.h>

#include <cmath>

#include "app/detection/results/test_json.h"
#include "app/detection/results/test_report.h"
#include "data/coco/masks.h"
#include "data/scenes/scenes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kArrow = 4;  // the class with points

Annotations scenes_with_sigmas(int64_t count) {
  Annotations table = Scenes({.count = count}).annotations();
  table.keypoint_sigmas.assign(5, 0.05);
  return table;
}

// Detections that equal the annotated objects. The score of object i of a picture is 1 / (i + 1).
std::vector<FoundBoxes> found_truth(const Annotations& table) {
  std::vector<FoundBoxes> found(table.images.size());
  for (std::size_t i = 0; i < table.images.size(); ++i)
    for (const CocoObject& object : table.objects_of(i)) {
      if (object.crowd) continue;
      FoundBox box{corners_of(object.bbox), 1 / static_cast<float>(found[i].size() + 1),
                   object.category + 1, mask_of(table, object)};
      for (uint32_t k = 0; k < object.keypoints.count; k += 3) {
        const double* at = &table.keypoints[object.keypoints.first + k];
        box.points.push_back(
            {static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(k), 0.5F});
      }
      found[i].push_back(box);
    }
  return found;
}

double number_named(const BoxTestResult& result, const std::string& wanted) {
  for (const auto& [name, number] : numbers_of(result))
    if (name == wanted) return number;
  return std::nan("");
}

TEST(ShapeScores, OfTheTruthArePerfect) {
  const Annotations truth = scenes_with_sigmas(40);
  const BoxTestResult result =
      scored(found_truth(truth), truth, {.masks = true, .keypoints = true}, 1);
  for (const char* name : {"ap", "mask_ap", "mask_ap50", "mask_ap_small", "mask_ar100",
                           "keypoint_ap", "keypoint_ap75", "keypoint_ar20"})
    EXPECT_NEAR(number_named(result, name), 1, 1e-12) << name;
  EXPECT_FALSE(result.proposals || result.voc);
  // Each kind is judged by its own shape.
  std::vector<FoundBoxes> worse = found_truth(truth);
  for (FoundBoxes& boxes : worse)
    for (FoundBox& box : boxes) {
      box.mask = {box.mask.height,
                  box.mask.width,
                  {static_cast<uint32_t>(box.mask.height * box.mask.width)}};
      for (FoundPoint& point : box.points) point.x += 30;
    }
  const BoxTestResult bad = scored(worse, truth, {.masks = true, .keypoints = true}, 2);
  EXPECT_EQ(number_named(bad, "ap"), 1);
  EXPECT_EQ(number_named(bad, "mask_ap"), 0);
  EXPECT_EQ(number_named(bad, "keypoint_ap"), 0);
}

TEST(ShapeScores, HaveTheirNamesAndALine) {
  const Annotations truth = scenes_with_sigmas(40);
  const BoxTestResult result =
      scored(found_truth(truth), truth, {.masks = true, .keypoints = true}, 1);
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers_of(result)) names.push_back(name);
  for (const char* name : {"ap_medium", "ar_medium", "mask_ap_medium", "mask_ar1", "mask_ar10",
                           "mask_ar_small", "keypoint_ar50", "keypoint_ar75"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  EXPECT_EQ(std::count(names.begin(), names.end(), "keypoint_ap_small"), 0);
  EXPECT_LT(std::find(names.begin(), names.end(), "ap"),
            std::find(names.begin(), names.end(), "mask_ap"));
  const HeldOutLine line = line_of(result);
  EXPECT_EQ(line.headline, "box AP 1.000");
  EXPECT_EQ(line.detail, "AP50 1.000  AP75 1.000  mask AP 1.000  keypoint AP 1.000");
  const BoxTestResult boxes = scored(found_truth(truth), truth, {}, 1);
  EXPECT_FALSE(boxes.mask_scores || boxes.keypoint_scores);
  EXPECT_EQ(line_of(boxes).detail, "AP50 1.000  AP75 1.000");
}

// A network that finds no arrow, and one that finds nothing at all.
TEST(ShapeScores, OfNothingAreZero) {
  const Annotations truth = scenes_with_sigmas(40);
  std::vector<FoundBoxes> no_arrow = found_truth(truth);
  for (FoundBoxes& boxes : no_arrow)
    std::erase_if(boxes, [](const FoundBox& box) { return box.kind == kArrow; });
  for (const auto& found : {no_arrow, std::vector<FoundBoxes>(40)}) {
    const BoxTestResult result = scored(found, truth, {.masks = true, .keypoints = true}, 1);
    EXPECT_EQ(number_named(result, "keypoint_ap"), 0);
    EXPECT_EQ(number_named(result, "keypoint_ar20"), 0);
    EXPECT_LT(number_named(result, "mask_ap"), 1);
    const TemporaryFolder folder;
    const auto paths =
        write_found(folder.path(), "val", truth, result, {.masks = true, .keypoints = true});
    EXPECT_TRUE(read_results(paths.at(2), truth).empty());
  }
}

TEST(ShapeScores, AreOfTheChosenConfidence) {
  const Annotations truth = scenes_with_sigmas(40);
  std::vector<FoundBoxes> found = found_truth(truth);
  // Beside each arrow a wrong one, whose box has a larger score and whose points have a smaller.
  for (FoundBoxes& boxes : found)
    for (std::size_t i = boxes.size(); i-- > 0;) {
      if (boxes[i].kind != kArrow) continue;
      FoundBox wrong = boxes[i];
      wrong.score = 2;
      for (FoundPoint& point : wrong.points) {
        point.y -= 40;
        point.logit -= 9;
      }
      boxes.push_back(wrong);
    }
  const auto score = [&](const char* confidence) {
    return number_named(
        scored(found, truth, {.keypoints = true, .keypoint_confidence = confidence}, 1),
        "keypoint_ap");
  };
  EXPECT_EQ(score("logit"), 1);
  EXPECT_LT(score("bbox"), 0.7);
}

TEST(ShapeScores, AreWrittenByClass) {
  const Annotations truth = scenes_with_sigmas(40);
  const BoxTestResult result =
      scored(found_truth(truth), truth, {.masks = true, .keypoints = true}, 1);
  const auto said = json_of(result, truth);
  EXPECT_EQ(said["keypoint_ap"], 1);
  ASSERT_EQ(said["classes"].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(said["classes"][i]["mask_ap"], 1);
    EXPECT_EQ(said["classes"][i]["keypoint_ap50"], i == 3 ? 1 : -1) << "only arrows have points";
  }
}

// -- files

TEST(ShapeFiles, HaveCocosForm) {
  const TemporaryFolder folder;
  const Annotations truth = scenes_with_sigmas(12);
  const TestedKinds kinds{.masks = true, .keypoints = true, .keypoint_confidence = "logit"};
  const BoxTestResult result = scored(found_truth(truth), truth, kinds, 1);
  const auto paths = write_found(folder.path(), "val", truth, result, kinds);
  EXPECT_EQ(paths, (std::vector{folder / "bbox_val_results.json",
                                folder / "segmentations_val_results.json",
                                folder / "keypoints_val_results.json"}));
  EXPECT_EQ(found_paths(folder.path(), "val", kinds), paths);
  EXPECT_EQ(found_paths("x", "val", {.keypoints = true}),
            (std::vector<std::string>{"x/bbox_val_results.json", "x/keypoints_val_results.json"}));
  const std::vector<Detection> boxes = detections_of(result.found);
  FoundShapes masks, points;
  const std::vector<Detection> of_masks = read_results(paths[1], truth, masks),
                               of_points = read_results(paths[2], truth, points);
  const FoundShapes written = shapes_of(result.found);
  EXPECT_TRUE(masks.masks == written.masks);
  ASSERT_EQ(of_masks.size(), boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) EXPECT_EQ(of_masks[i].score, boxes[i].score);
  std::size_t next = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (written.keypoints[i].empty()) continue;
    ASSERT_LT(next, of_points.size());
    EXPECT_EQ(points.keypoints[next], written.keypoints[i]);
    EXPECT_EQ(of_points[next].image, boxes[i].image);
    EXPECT_EQ(of_points[next].category, kArrow - 1);
    EXPECT_EQ(of_points[next++].score, 6) << "the mean of 0, 3, 6, 9, 12";
  }
  EXPECT_EQ(next, of_points.size());
  EXPECT_GT(next, 0U);
  expect_error([&] { found_paths("x", "a/b", kinds); }, "'a/b'", "contains a /");
}

// -- found boxes

TEST(FoundBoxes, SayTheirShapes) {
  FoundBox box{{1, 2, 3, 4}, 0.5F, 2};
  EXPECT_EQ(text_of(box), "1, 2, 3, 4 with a score of 0.5");
  box.mask = {2, 3, {1, 4, 1}};
  box.points.resize(3);
  EXPECT_EQ(text_of(box), "1, 2, 3, 4 with a score of 0.5, a mask of 4 pixels, 3 points");
  EXPECT_TRUE(is_finite(box));
  FoundBox other = box;
  EXPECT_TRUE(box == other);
  other.mask.counts = {2, 3, 1};
  EXPECT_FALSE(box == other);
  for (float FoundPoint::*number :
       {&FoundPoint::x, &FoundPoint::y, &FoundPoint::logit, &FoundPoint::probability}) {
    FoundBox bad = box;
    bad.points[2].*number = std::nanf("");
    EXPECT_FALSE(is_finite(bad));
  }
}

TEST(FoundBoxes, HaveShapesInTheOrderOfTheirDetections) {
  EXPECT_TRUE(shapes_of({{FoundBox{}}, {}}).masks.empty());
  EXPECT_TRUE(shapes_of({{FoundBox{}}, {}}).keypoints.empty());
  FoundBox with_points{{0, 0, 9, 9}, 1, 1};
  with_points.points = {{1.5F, 2.25F, 9, 1}, {3, 4, 9, 1}};
  const FoundShapes shapes = shapes_of({{FoundBox{}}, {with_points}});
  EXPECT_TRUE(shapes.masks.empty());
  EXPECT_EQ(shapes.keypoints, (std::vector<std::vector<float>>{{}, {1.5F, 2.25F, 1, 3, 4, 1}}));
}

}  // namespace
}  // namespace lockstep::testing
