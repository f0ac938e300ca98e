// SPDX-License-Identifier: Apache-2.0
// COCO's scores: crowds, overlaps at the threshold, and proposals, which are used only once.
#include <gtest/gtest.h>

#include "data/coco/evaluation.h"

namespace lockstep::testing {
namespace {

// One image of one category with these objects.
Annotations scored_table(const std::vector<CocoBox>& boxes) {
  Annotations table;
  table.categories.push_back({1, "thing", {}, {}});
  table.images.push_back({1, "", 200, 200});
  for (const CocoBox& box : boxes) {
    CocoObject object;
    object.id = static_cast<int64_t>(table.objects.size()) + 1;
    object.bbox = box;
    object.area = box[2] * box[3];
    table.objects.push_back(object);
  }
  table.first_object = {0, boxes.size()};
  return table;
}

// Any number of detections may be in a crowd without being wrong.
TEST(CocoScoring, ACrowdTakesEveryDetectionInIt) {
  Annotations table = scored_table({{0, 0, 100, 100}, {150, 150, 20, 20}});
  table.objects[0].crowd = true;
  // Three detections in the crowd with higher scores than the detection that finds the object.
  std::vector<Detection> found{{0, 0, {10, 10, 20, 20}, 0.9},
                               {0, 0, {40, 40, 20, 20}, 0.8},
                               {0, 0, {70, 70, 20, 20}, 0.7},
                               {0, 0, {150, 150, 20, 20}, 0.6}};
  EXPECT_NEAR(evaluate_boxes(table, found).numbers().ap, 1, 1e-12);
  found.push_back({0, 0, {120, 0, 20, 20}, 0.95});  // outside the crowd
  EXPECT_NEAR(evaluate_boxes(table, found).numbers().ap, 0.5, 1e-12);
}

// Applies to any fraction of the detection in the crowd.
TEST(CocoScoring, AnObjectIsFoundBeforeACrowd) {
  Annotations table = scored_table({{0, 0, 100, 100}, {10, 10, 20, 20}});
  table.objects[0].crowd = true;
  const std::vector<Detection> found{{0, 0, {10, 10, 20, 16}, 0.9}};  // 0.8 of the object
  EXPECT_NEAR(evaluate_boxes(table, found).numbers().ap50, 1, 1e-12);
}

TEST(CocoScoring, AnOverlapAsLargeAsWantedIsEnough) {
  const Annotations table = scored_table({{0, 0, 10, 10}});
  const CocoScores scores = evaluate_boxes(table, {{0, 0, {0, 0, 10, 5}, 0.9}});
  EXPECT_NEAR(scores.average_precision_at(0, 0), 1, 1e-12);  // 0.5
  EXPECT_EQ(scores.average_precision_at(1, 0), 0);           // 0.55
}

// Two objects at the same position need two proposals.
TEST(CocoScoring, AProposalCoversOneObject) {
  const Annotations table = scored_table({{10, 10, 20, 20}, {10, 10, 20, 20}});
  std::vector<Detection> proposals{{0, 0, {10, 10, 20, 20}, 0.9}, {0, 0, {90, 90, 20, 20}, 0.8}};
  EXPECT_EQ(evaluate_proposals(table, proposals, 10).average[0], 0.5);
  proposals[1].bbox = proposals[0].bbox;
  EXPECT_EQ(evaluate_proposals(table, proposals, 10).average[0], 1);
}

// Of three objects of the first category one is found, of the second category the only one: a
// proposal counts for an object of each category.
TEST(CocoScoring, RecallByClassIsTheMeanOverClasses) {
  Annotations table = scored_table(
      {{10, 10, 20, 20}, {60, 10, 20, 20}, {110, 10, 20, 20}, {10, 10, 20, 20}, {9, 9, 9, 9}});
  table.categories.push_back({2, "other", {}, {}});
  table.categories.push_back({3, "nothing", {}, {}});
  table.objects[3].category = 1;
  table.objects[4].category = 2;
  table.objects[4].crowd = true;
  const std::vector<Detection> proposals{{0, 0, {10, 10, 20, 20}, 0.9}};
  EXPECT_EQ(evaluate_proposals(table, proposals, 10).average[0], 0.25);
  const ProposalRecall recall = evaluate_proposals(table, proposals, 10, 2, true);
  EXPECT_NEAR(recall.average[0], (1.0 / 3 + 1) / 2, 1e-12);
  EXPECT_NEAR(recall.at_half[1], (1.0 / 3 + 1) / 2, 1e-12);
  EXPECT_EQ(recall.average[3], -1);
  EXPECT_EQ(evaluate_proposals(table, {}, 10, 1, true).average[0], 0);
}

// Two joined sets may repeat an id.
TEST(CocoScoring, DoesNotNeedDifferentIds) {
  Annotations table;
  table.categories.push_back({1, "thing", {}, {}});
  table.first_object.push_back(0);
  std::vector<Detection> found;
  for (int32_t i = 0; i < 60; ++i) {
    table.images.push_back({i % 20, "", 100, 100});
    CocoObject object;
    object.id = i;
    object.image = i;
    object.bbox = {10, 10, 30, 30};
    object.area = 900;
    table.objects.push_back(object);
    table.first_object.push_back(table.objects.size());
    found.push_back({i, 0, {10, 10, 30, 30}, 0.5 + 0.001 * i});
  }
  EXPECT_NEAR(evaluate_boxes(table, found).numbers().ap, 1, 1e-12);
}

}  // namespace
}  // namespace lockstep::testing
