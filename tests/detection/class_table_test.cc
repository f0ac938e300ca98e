// SPDX-License-Identifier: Apache-2.0
// The table of classes that `lockstep test` prints.
#include <gtest/gtest.h>

#include "app/detection/results/class_table.h"

namespace lockstep::testing {
namespace {

CocoScores scores_of(double precision, const CocoRules& rules = coco_box_rules()) {
  CocoScores scores(2, rules);
  for (std::size_t overlap = 0; overlap < CocoScores::kOverlaps; ++overlap)
    for (std::size_t recall = 0; recall < CocoScores::kRecalls; ++recall)
      scores.precision[scores.precision_place(overlap, recall, 1, 0, rules.limits.size() - 1)] =
          precision;
  return scores;
}

TEST(ClassTable, HasColumnsForTheScoresThatThereAre) {
  Annotations table;
  table.categories = {{1, "disc", {}, {}}, {2, "arrow", {}, {}}};
  BoxTestResult result;
  EXPECT_EQ(class_table(result, table), "") << "no scores";
  result.scores = scores_of(0.5);
  EXPECT_EQ(class_table(result, table),
            "      AP    AP50  class\n"
            "       -       -  disc\n"
            "   0.500   0.500  arrow\n");
  result.mask_scores = scores_of(0.25);
  result.keypoint_scores = scores_of(0.125, coco_keypoint_rules());
  EXPECT_EQ(class_table(result, table),
            "      AP    AP50  mask AP  mask AP50  keypoint AP  keypoint AP50  class\n"
            "       -       -        -          -            -              -  disc\n"
            "   0.500   0.500    0.250      0.250        0.125          0.125  arrow\n");
  result.mask_scores = result.keypoint_scores = {};
  result.voc = VocScores{{0.75, -1}, {1, 0}};
  EXPECT_EQ(class_table(result, table),
            "      AP    AP50  VOC AP   VOC07  class\n"
            "       -       -   1.000   0.750  disc\n"
            "   0.500   0.500   0.000       -  arrow\n");
  table.categories.resize(101);
  EXPECT_EQ(class_table(result, table), "") << "too long for a terminal";
}

}  // namespace
}  // namespace lockstep::testing
