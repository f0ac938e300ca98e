// SPDX-License-Identifier: Apache-2.0
// Each family of detectors memorises eight scenes, from scratch, with its file in
// configs/detection.
#include <gtest/gtest.h>

#include "app/record/metrics.h"
#include "lockstep/error.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// Half of the files' channels, which suffice for eight scenes.
const std::vector<std::string> kNarrow{"RESNETS.STEM_OUT_CHANNELS",
                                       "16",
                                       "RESNETS.RES2_OUT_CHANNELS",
                                       "16",
                                       "GROUP_NORM.NUM_GROUPS",
                                       "4",
                                       "FPN.DIM",
                                       "32"};

class DetectorFamilies : public ::testing::Test {
 protected:
  // Trains and tests on the same eight scenes. Returns the last row of its metrics.
  MetricRow learnt(const std::string& file, int iterations,
                   const std::vector<std::string>& more = {}) {
    const std::string all = std::to_string(iterations);
    const std::string drop = join("[0,", iterations * 4 / 5, "]");
    std::vector<std::string> words{"train",
                                   std::string(LOCKSTEP_SOURCE_DIR) + "/configs/detection/" + file,
                                   "OUTPUT_DIR",
                                   folder_ / into_,
                                   "SCENES.TRAIN",
                                   "8",
                                   "TEST.DATASETS",
                                   "[scenes_train]",
                                   "SOLVER.MAX_ITER",
                                   all,
                                   "SOLVER.STEPS",
                                   drop,
                                   "SOLVER.WARM_UP_ITERS",
                                   "20",
                                   "TRAIN.USE_FLIPPED",
                                   "false",
                                   "TRAIN.SNAPSHOT_ITERS",
                                   "100000"};
    words.insert(words.end(), kNarrow.begin(), kNarrow.end());
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_lockstep(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_metrics(run_folder() + "/metrics.jsonl").back();
  }
  std::string run_folder() const { return folder_ / (into_ + "/train/scenes_train/" + type_); }

  std::string into_ = "run";
  std::string type_ = "generalized_rcnn";
  TemporaryFolder folder_;
};

// The file's rate is for many scenes. At this rate one seed in five diverges within 130 steps, and
// rounding decides which seed.
TEST_F(DetectorFamilies, FasterRcnnOnAPyramid) {
  EXPECT_GE(
      value_of(learnt("scenes_faster_rcnn_fpn.yaml", 130, {"SOLVER.BASE_LR", "0.01"}), "test_ap50"),
      0.9);
}

// A head of stage 5 for each RoI is slow. Few RoIs learn less, in half of the time.
TEST_F(DetectorFamilies, FasterRcnnOnOneMap) {
  EXPECT_GE(value_of(learnt("scenes_faster_rcnn_c4.yaml", 300, {"TRAIN.BATCH_SIZE_PER_IM", "12"}),
                     "test_ap50"),
            0.5);
}

TEST_F(DetectorFamilies, FasterRcnnOnAVgg16) {
  EXPECT_GE(value_of(learnt("scenes_faster_rcnn_vgg16.yaml", 200, {"VGG.CHANNEL_DIVISOR", "8"}),
                     "test_ap50"),
            0.9);
}

TEST_F(DetectorFamilies, RetinaNet) {
  type_ = "retinanet";
  EXPECT_GE(value_of(learnt("scenes_retinanet_fpn.yaml", 220), "test_ap50"), 0.9);
}

TEST_F(DetectorFamilies, ProposalsAndFastRcnnAndRfcnOnThem) {
  EXPECT_GE(value_of(learnt("scenes_rpn_fpn.yaml", 120), "test_ar100_at_half"), 0.9);
  std::vector<std::string> words{
      "test",          std::string(LOCKSTEP_SOURCE_DIR) + "/configs/detection/scenes_rpn_fpn.yaml",
      "OUTPUT_DIR",    folder_ / "run",
      "SCENES.TRAIN",  "8",
      "TEST.DATASETS", "[scenes_train]",
      "--weights",     run_folder() + "/checkpoint.safetensors",
      "--out",         folder_ / "proposals"};
  words.insert(words.end(), kNarrow.begin(), kNarrow.end());
  const Outcome proposals = run_lockstep(words);
  ASSERT_EQ(proposals.exit_code, 0) << proposals.err;
  const std::string file = "[" + (folder_ / "proposals/proposals.safetensors") + "]";
  into_ = "fast";
  EXPECT_GE(value_of(learnt("scenes_fast_rcnn_fpn.yaml", 120,
                            {"TRAIN.PROPOSAL_FILES", file, "TEST.PROPOSAL_FILES", file}),
                     "test_ap50"),
            0.9);
  into_ = "positions";
  type_ = "rfcn";
  EXPECT_GE(value_of(learnt("scenes_rfcn.yaml", 200,
                            {"TRAIN.PROPOSAL_FILES", file, "TEST.PROPOSAL_FILES", file}),
                     "test_ap50"),
            0.9);
}

}  // namespace
}  // namespace lockstep::testing
