// SPDX-License-Identifier: Apache-2.0
// A small detector on generated scenes, for tests of commands.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/file.h"
#include "tests/support/program.h"

namespace lockstep::testing {

// Two padded shapes, since each step draws one of two scales.
inline constexpr const char* kSmallDetector = R"(NUM_GPUS: 2
THREADS: 1
MODEL: {TYPE: generalized_rcnn, CONV_BODY: FPN.add_fpn_ResNet18_conv5_body, NUM_CLASSES: 5, FASTER_RCNN: true}
RESNETS: {STEM_FUNC: basic_gn_stem, SHORTCUT_FUNC: basic_gn_shortcut, TRANS_FUNC: basic_gn_transformation,
  STEM_OUT_CHANNELS: 8, RES2_OUT_CHANNELS: 8}
GROUP_NORM: {NUM_GROUPS: 4}
FPN: {FPN_ON: true, DIM: 16, USE_GN: true, MULTILEVEL_RPN: true, RPN_MAX_LEVEL: 5, RPN_ANCHOR_START_SIZE: 16,
  MULTILEVEL_ROIS: true}
FAST_RCNN: {ROI_BOX_HEAD: fast_rcnn_heads.add_roi_2mlp_head, MLP_HEAD_DIM: 32, ROI_XFORM_METHOD: RoIAlign,
  ROI_XFORM_RESOLUTION: 7, ROI_XFORM_SAMPLING_RATIO: 2}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 14, STEPS: [0], LR_POLICY: steps_with_decay, WARM_UP_ITERS: 4}
SCENES: {TRAIN: 20, VAL: 9}
TRAIN: {DATASETS: [scenes_train], SCALES: [64, 96], SCALE_PER_IMAGE: false, MAX_SIZE: 128, IMS_PER_BATCH: 2, FREEZE_AT: 0,
  TRUE_BOXES: 16,
  BATCH_SIZE_PER_IM: 16, RPN_BATCH_SIZE_PER_IM: 32, RPN_PRE_NMS_TOP_N: 100, RPN_POST_NMS_TOP_N: 50,
  SNAPSHOT_ITERS: 10, LOG_ITERS: 4}
TEST: {DATASETS: [scenes_val], SCALE: 96, MAX_SIZE: 128, NMS: 0.5, RPN_PRE_NMS_TOP_N: 100, RPN_POST_NMS_TOP_N: 50,
  ITERS: 1000, SCORE_THRESH: 0.0}
)";

class DetectorCommand : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_ / "small.yaml", kSmallDetector); }

  std::vector<std::string> words(const std::string& command, const std::string& into,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{command, folder_ / "small.yaml", "OUTPUT_DIR", folder_ / into};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome run(const std::string& command, const std::string& into,
              const std::vector<std::string>& more = {}) const {
    return run_lockstep(words(command, into, more));
  }
  std::string run_folder(const std::string& into) const {
    return folder_ / (into + "/train/scenes_train/generalized_rcnn");
  }
  std::string checkpoint(const std::string& into) const {
    return read_file(run_folder(into) + "/checkpoint.safetensors");
  }
  void expect_trained(const std::string& into, const std::vector<std::string>& more = {}) const {
    const Outcome outcome = run("train", into, more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  TemporaryFolder folder_;
};

}  // namespace lockstep::testing
