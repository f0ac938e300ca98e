// SPDX-License-Identifier: Apache-2.0
// The classes that have points, their sigmas, the scores of points, and suppression by similarity.
#include <gtest/gtest.h>

#include <cmath>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/shapes/keypoint_results.h"
#include "data/scenes/scenes.h"
#include "lockstep/operators.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

Annotations table_of(const std::vector<CocoCategory>& categories) {
  Annotations table;
  table.path = "a.json";
  table.categories = categories;
  return table;
}

class KeypointRulesTest : public DetectorConfigTest {
 protected:
  DetectorConfig with_head(const std::string& points, const std::string& more = "") {
    return read(
        "MODEL.KEYPOINTS_ON: True\nKRCNN: {ROI_KEYPOINTS_HEAD: "
        "keypoint_rcnn_heads.add_roi_pose_head_v1convX, ROI_XFORM_RESOLUTION: 7, HEATMAP_SIZE: 28, "
        "UP_SCALE: 2, USE_DECONV_OUTPUT: True, NUM_KEYPOINTS: " +
        points + "}\n" + more);
  }
  KeypointRules rules_of(const Annotations& table, const std::string& points) {
    return keypoint_rules_of(with_head(points), table);
  }
};

TEST_F(KeypointRulesTest, SayWhichClassesHavePoints) {
  Annotations scenes = Scenes({.count = 1}).annotations();
  scenes.keypoint_sigmas.assign(5, 0.05);
  const KeypointRules rules = rules_of(scenes, "5");
  ASSERT_EQ(rules.classes.size(), 4U);
  for (int64_t kind = 0; kind < 6; ++kind) EXPECT_EQ(rules.has_points(kind), kind == 4) << kind;
  EXPECT_EQ(rules.pairs(4), (KeypointPairs{{1, 2}, {3, 4}}));
  EXPECT_TRUE(rules.pairs(1).empty());
  EXPECT_EQ(rules.sigmas, scenes.keypoint_sigmas);
  // Without metadata, every class may have points.
  const KeypointRules unknown = keypoint_rules_in(TrainingModel(all_ops()));
  EXPECT_TRUE(unknown.has_points(1) && unknown.has_points(80));
  EXPECT_FALSE(unknown.has_points(0)) << "a proposal";
  EXPECT_TRUE(unknown.pairs(80).empty());
}

// `infer` knows no data set: a network's file has the rules, or nobody has.
TEST_F(KeypointRulesTest, ThatATestNeedsAreNotGuessed) {
  KeypointRules known;
  known.classes = {KeypointPairs{{0, 1}}};
  known.sigmas = {0.1, 0.1};
  const auto refused_without = [&](const std::string& more, const auto&... parts) {
    SCOPED_TRACE(more);
    const DetectorConfig config = with_head("2", more);
    EXPECT_NO_THROW(check_rules_suffice(config, known, "w.safetensors"));
    expect_error([&] { check_rules_suffice(config, {}, "w.safetensors"); }, parts...,
                 "w.safetensors", "metadata 'keypoint_rules'", "give a run of `lockstep train`");
  };
  refused_without("TEST.KPS_AUG: {ENABLED: True, H_FLIP: True}\n",
                  "x.yaml:7: TEST.KPS_AUG.H_FLIP is true", "which keypoints change places",
                  "or set TEST.KPS_AUG.H_FLIP to false");
  refused_without("TEST.KPS_AUG: {ENABLED: True, SCALES: [700], SCALE_H_FLIP: True}\n",
                  "TEST.KPS_AUG.SCALE_H_FLIP is true");
  refused_without("TEST.KPS_AUG: {ENABLED: True, ASPECT_RATIOS: [2], ASPECT_RATIO_H_FLIP: True}\n",
                  "TEST.KPS_AUG.ASPECT_RATIO_H_FLIP is true");
  refused_without("KRCNN.NMS_OKS: True\n", "x.yaml:7: KRCNN.NMS_OKS is true", "has no sigmas",
                  "or set KRCNN.NMS_OKS to false");
  for (const char* fine :
       {"", "TEST.KPS_AUG: {ENABLED: False, H_FLIP: True}\n",
        "TEST.KPS_AUG: {ENABLED: True, SCALES: [700]}\n",
        "TEST.KPS_AUG: {ENABLED: True, SCALE_H_FLIP: True}\n", "TEST.MASK_AUG.H_FLIP: True\n",
        "TEST.BBOX_AUG: {ENABLED: True, H_FLIP: True}\n"})
    EXPECT_NO_THROW(check_rules_suffice(with_head("2", fine), {}, "w.safetensors")) << fine;
}

TEST_F(KeypointRulesTest, OfASetThatCannotBeTestedAreRefused) {
  Annotations table = table_of({{1, "disc", {}, {}}, {2, "arrow", {"tip", "tail"}, {}}});
  expect_error([&] { rules_of(table, "2"); }, "a.json: the 2 keypoints of 'arrow'",
               "KEYPOINT_SIGMAS");
  table.keypoint_sigmas = {0.1, 0.1};
  EXPECT_TRUE(rules_of(table, "2").has_points(2));
  expect_error([&] { rules_of(table, "17"); },
               "x.yaml:6: KRCNN.NUM_KEYPOINTS is 17, but category 'arrow' of a.json has 2 "
               "keypoints; should be 2");
  table.keypoint_sigmas.push_back(0.1);
  expect_error([&] { rules_of(table, "2"); },
               "a.json: there are 3 KEYPOINT_SIGMAS for 2 keypoints");
  expect_error(
      [&] {
        rules_of(table_of({{1, "disc", {}, {}}}), "2");
      },
      "a.json: no category has keypoints");
}

TEST(KeypointRules, GoThroughTheMetadataOfAFile) {
  KeypointRules rules;
  rules.classes = {std::nullopt, KeypointPairs{{0, 1}, {2, 5}}, KeypointPairs{}};
  rules.sigmas = {0.026, 0.1, 1.0 / 3};
  TrainingModel file(all_ops());
  file.metadata[kKeypointRules] = metadata_of(rules);
  const KeypointRules read = keypoint_rules_in(file);
  EXPECT_EQ(read.classes, rules.classes);
  EXPECT_EQ(read.sigmas, rules.sigmas);
  for (const char* bad : {"", "[1", "{}", R"({"sigmas":["a"],"classes":[]})",
                          R"({"sigmas":[],"classes":[{"swap":[[1]]}]})"}) {
    SCOPED_TRACE(bad);
    file.metadata[kKeypointRules] = bad;
    expect_error([&] { keypoint_rules_in(file); }, "the metadata 'keypoint_rules'");
  }
}

// -- scores

FoundBox box_with(const Corners& corners, float score, int64_t kind,
                  const std::vector<FoundPoint>& points) {
  return {corners, score, kind, {}, points};
}

TEST(KeypointScores, AreTheBoxesOrMeansOverThePoints) {
  const std::vector<FoundBoxes> pictures{
      {box_with({0, 0, 9, 9}, 0.9F, 4, {{1, 1, 2, 0.5F}, {2, 2, 5, 0.25F}}),
       box_with({0, 0, 5, 5}, 0.7F, 1, {})},
      {},
      {box_with({0, 0, 9, 9}, 0.1F, 4, {{1, 1, -1, 0.125F}, {2, 2, -4, 0.125F}})}};
  const auto scores = [&](const char* confidence) {
    std::vector<double> all;
    for (const Detection& detection : detections_of_points(pictures, confidence))
      all.push_back(detection.score);
    return all;
  };
  const double first = 0.9F, second = 0.7F, third = 0.1F;
  EXPECT_EQ(scores("bbox"), (std::vector<double>{first, second, third}));
  EXPECT_EQ(scores("logit"), (std::vector<double>{3.5, second, -2.5}));
  EXPECT_EQ(scores("prob"), (std::vector<double>{0.375, second, 0.125}));
  expect_error([&] { scores("box"); }, "no source of scores is called 'box'");
}

TEST_F(DetectorConfigTest, KeypointConfidenceIsOneOfThree) {
  for (const char* word : {"bbox", "logit", "prob"})
    EXPECT_EQ(read("", {"KRCNN.KEYPOINT_CONFIDENCE", word}).network.krcnn.keypoint_confidence,
              word);
  expect_error(
      [&] {
        read("", {"KRCNN.KEYPOINT_CONFIDENCE", "score"});
      },
      "KRCNN.KEYPOINT_CONFIDENCE", "bbox", "logit", "prob");
}

// -- suppression

const std::vector<double> kTwoSigmas{0.05, 0.1};

// Two points with a logit; the other point is 10 pixels to the right.
FoundBox pair_at(float x, float logit, float score, int64_t kind = 2, float side = 40) {
  return box_with({x, 0, x + side, side}, score, kind,
                  {{x + 5, 9, logit, 0.5F}, {x + 15, 9, logit, 0.5F}});
}

std::vector<float> scores_left(FoundBoxes boxes) {
  suppress_similar(boxes, kTwoSigmas);
  std::vector<float> scores;
  for (const FoundBox& box : boxes) scores.push_back(box.score);
  return scores;
}

// The mean of exp(-d^2 / (2 (2 s)^2 area)) over the points.
double naive_similarity(double distance, double area) {
  double sum = 0;
  for (const double sigma : kTwoSigmas)
    sum += std::exp(-distance * distance / (2 * 4 * sigma * sigma * area));
  return sum / 2;
}

TEST(SimilarKeypoints, AreSuppressedByTheBoxWithLargerLogits) {
  ASSERT_GT(naive_similarity(6, 1600), 0.3);
  ASSERT_LT(naive_similarity(10, 1600), 0.3);
  using Scores = std::vector<float>;
  EXPECT_EQ(scores_left({pair_at(0, 1, 0.9F), pair_at(6, 2, 0.5F)}), (Scores{0.5F}));
  EXPECT_EQ(scores_left({pair_at(0, 1, 0.9F), pair_at(10, 2, 0.5F)}), (Scores{0.9F, 0.5F}));
  // A suppressed box suppresses nothing.
  EXPECT_EQ(scores_left({pair_at(0, 3, 0.3F), pair_at(6, 2, 0.9F), pair_at(12, 1, 0.8F)}),
            (Scores{0.3F, 0.8F}));
  // Of equal logits, the better box stays.
  EXPECT_EQ(scores_left({pair_at(0, 1, 0.9F), pair_at(1, 1, 0.8F)}), (Scores{0.9F}));
  // Sizes are the better one's.
  EXPECT_EQ(scores_left({pair_at(0, 2, 0.9F, 2, 80), pair_at(11, 1, 0.8F)}), (Scores{0.9F}));
  ASSERT_LT(naive_similarity(11, 1600), 0.3);
  ASSERT_GT(naive_similarity(11, 6400), 0.3);
  EXPECT_EQ(scores_left({pair_at(0, 1, 0.9F, 2, 80), pair_at(11, 2, 0.8F)}), (Scores{0.9F, 0.8F}));
  // Other classes, and boxes without points, stay.
  EXPECT_EQ(scores_left({pair_at(0, 2, 0.9F), pair_at(0, 1, 0.8F, 3),
                         box_with({0, 0, 40, 40}, 0.7F, 2, {})}),
            (Scores{0.9F, 0.8F, 0.7F}));
  EXPECT_TRUE(scores_left({}).empty());
}

TEST(SimilarKeypoints, NeedASigmaForEachPoint) {
  FoundBoxes boxes{pair_at(0, 1, 0.9F)};
  expect_error([&] { suppress_similar(boxes, {0.1}); },
               "KRCNN.NMS_OKS: a box has 2 points, but there are 1 sigmas");
}

}  // namespace
}  // namespace lockstep::testing
