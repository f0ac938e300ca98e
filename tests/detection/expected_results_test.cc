// SPDX-License-Identifier: Apache-2.0
// EXPECTED_RESULTS: read, refused by name, compared within tolerances.
#include "app/detection/results/expected_results.h"

#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

class ExpectedResultsTest : public DetectorConfigTest {
 protected:
  std::vector<ExpectedResult> expected(const std::string& value, const Words& words = {}) {
    Words all{"TEST.DATASETS", "[scenes_val]"};
    all.insert(all.end(), words.begin(), words.end());
    return expected_results(read("EXPECTED_RESULTS: " + value + "\n", all));
  }
  template <class... Parts>
  void refused_list(const std::string& value, const Parts&... parts) {
    SCOPED_TRACE(value);
    expect_error([&] { expected(value); }, "x.yaml:5: EXPECTED_RESULTS: ", parts...);
  }
};

TEST_F(ExpectedResultsTest, AreReadAsDetectronWritesThem) {
  EXPECT_TRUE(expected("[]").empty());
  const auto all =
      expected("[['scenes_val', 'box', 'AP', 0.37], [scenes_val, box, APs, [0.2, 0.01]]]");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].set, "scenes_val");
  EXPECT_EQ(all[0].task, "box");
  EXPECT_EQ(all[0].metric, "AP");
  EXPECT_EQ(all[0].value, 0.37);
  EXPECT_FALSE(all[0].deviation);
  EXPECT_EQ(all[1].value, 0.2);
  EXPECT_EQ(*all[1].deviation, 0.01);
  const Words masks{"MODEL.MASK_ON",
                    "true",
                    "MRCNN.ROI_MASK_HEAD",
                    "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs",
                    "MRCNN.RESOLUTION",
                    "28",
                    "MRCNN.ROI_XFORM_RESOLUTION",
                    "14"};
  EXPECT_EQ(expected("[[scenes_val, mask, APs, 0.37], [scenes_val, box, AP, 0.4]]", masks).size(),
            2U);
  EXPECT_EQ(expected("[[scenes_val, box_proposal, ARs@1000, 0.5]]",
                     {"MODEL.FASTER_RCNN", "false", "MODEL.RPN_ONLY", "true"})
                .size(),
            1U);
}

TEST_F(ExpectedResultsTest, ThatCannotBeComparedAreRefused) {
  refused_list("[[scenes_val, box, AP]]", "should be [data set, task, number, value]");
  refused_list("[[scenes_val, box, AP, 0.37, 0.01]]", "should be [data set, task, number, value]");
  refused_list("5", "'5' should be a list of results");
  refused_list("[[scenes_val, box, AP, high]]",
               "the value of scenes_val box AP should be a number");
  refused_list("[[scenes_val, box, AP, [1, 2, 3]]]", "should be a number or [mean, deviation]");
  refused_list("[[scenes_val, box, AP, [1, -2]]]", "the deviation of scenes_val box AP is -2");
  refused_list("[[other, box, AP, 0.3]]", "'other' is not tested: TEST.DATASETS has scenes_val");
  refused_list("[[scenes_val, mask, AP, 0.3]]", "does not compute 'mask AP', only box AP, ");
  refused_list("[[scenes_val, keypoint, AP, 0.3]]",
               "does not compute 'keypoint AP', only box AP, ");
  refused_list("[[scenes_val, box_proposal, AR@100, 0.3]]",
               "does not compute 'box_proposal AR@100'");
}

TEST_F(ExpectedResultsTest, HoldWithinTheirTolerance) {
  BoxTestResult result;
  result.proposals = ProposalScores{{100, {0.5, 0.25, -1, -1}, {}}, {1000, {0.75, -1, -1, -1}, {}}};
  const auto holds = [&](const std::string& metric, double value,
                         std::optional<double> deviation = std::nullopt) {
    return compared({"set", "box_proposal", metric, value, deviation}, result, {}).holds;
  };
  // 0.005 + a tenth of the expected value
  EXPECT_TRUE(holds("AR@100", 0.5));
  EXPECT_TRUE(holds("AR@100", 0.549));
  EXPECT_FALSE(holds("AR@100", 0.562));
  EXPECT_TRUE(holds("AR@100", 0.451));
  EXPECT_FALSE(holds("AR@100", 0.449));
  EXPECT_TRUE(holds("ARs@100", 0.25));
  EXPECT_TRUE(holds("AR@1000", 0.75));
  // Four deviations.
  EXPECT_TRUE(holds("AR@100", 0.535, 0.01));
  EXPECT_FALSE(holds("AR@100", 0.545, 0.01));
  EXPECT_TRUE(holds("AR@100", 0.5, 0.0));
  EXPECT_EQ(compared({"set", "box_proposal", "AR@100", 0.562, std::nullopt}, result, {}).line,
            "FAIL set box_proposal AR@100: 0.500, expected 0.562 within 0.061");
  EXPECT_EQ(compared({"set", "box_proposal", "ARl@100", 0.5, std::nullopt}, result, {}).line,
            "FAIL set box_proposal ARl@100: the data set has no object for it");
  ExpectedResults strict;
  strict.rtol = strict.atol = 0;
  EXPECT_FALSE(
      compared({"set", "box_proposal", "AR@100", 0.501, std::nullopt}, result, strict).holds);
}

// Each kind of score has its own rows.
TEST_F(ExpectedResultsTest, OfMasksAndKeypointsAreCompared) {
  BoxTestResult result;
  const auto scores_of = [](double precision, const CocoRules& rules) {
    CocoScores scores(1, rules);
    std::fill(scores.precision.begin(), scores.precision.end(), precision);
    return scores;
  };
  result.scores = scores_of(0.25, coco_box_rules());
  result.mask_scores = scores_of(0.5, coco_box_rules());
  result.keypoint_scores = scores_of(0.75, coco_keypoint_rules());
  const auto holds = [&](const std::string& task, const std::string& metric, double value) {
    return compared({"set", task, metric, value, 0.0}, result, {}).holds;
  };
  for (const char* metric : {"AP", "AP50", "AP75", "APs", "APm", "APl"}) {
    EXPECT_TRUE(holds("box", metric, 0.25)) << metric;
    EXPECT_TRUE(holds("mask", metric, 0.5)) << metric;
    EXPECT_FALSE(holds("mask", metric, 0.25)) << metric;
  }
  for (const char* metric : {"AP", "AP50", "AP75", "APm", "APl"})
    EXPECT_TRUE(holds("keypoint", metric, 0.75)) << metric;
  expect_error([&] { holds("keypoint", "APs", 0.75); }, "no number is called 'APs'");
}

}  // namespace
}  // namespace lockstep::testing
