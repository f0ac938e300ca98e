// SPDX-License-Identifier: Apache-2.0
// Refuses keys of a detector's configuration that do not fit together, and names their location.
#include "app/config/not_done.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

TEST_F(DetectorConfigTest, RefusesASchedule) {
  const std::string steps = "SOLVER.LR_POLICY: steps_with_decay\nSOLVER.STEPS: ";
  refused(steps + "[10, 20]\n", "x.yaml:6: SOLVER.STEPS [10,20]", "should begin with 0");
  refused(steps + "()\n", "x.yaml:6: SOLVER.STEPS", "should begin with 0");
  refused(steps + "[0, 50000]\n", "x.yaml:6: SOLVER.STEPS [0,50000]", "STEPS pass MAX_ITER 40000");
  refused(steps + "[0, 20, 10]\n", "must ascend");
  refused("SOLVER.LR_POLICY: stepp\n", "x.yaml:5: SOLVER.LR_POLICY 'stepp' is not known",
          "did you mean 'step'?");
  refused("SOLVER.MAX_ITER: 0\n", "x.yaml:5: SOLVER.MAX_ITER", "should be at least 1");
  refused("SOLVER.WARM_UP_METHOD: quick\n", "x.yaml:5: SOLVER.WARM_UP_METHOD is 'quick'");
  refused("SOLVER.MOMENTUM: 1\n", "x.yaml:5: SOLVER.MOMENTUM");
}

// Numbers that would make a step infinite or impossible.
TEST_F(DetectorConfigTest, RefusesNumbersWithoutAMeaning) {
  refused("RETINANET.BBOX_REG_BETA: 0\n", "x.yaml:5: RETINANET.BBOX_REG_BETA", "at least");
  refused("RETINANET.PRIOR_PROB: 0\n", "x.yaml:5: RETINANET.PRIOR_PROB", "at least");
  refused("RETINANET.PRIOR_PROB: 1\n", "x.yaml:5: RETINANET.PRIOR_PROB", "at most");
  refused("TRAIN.RPN_POSITIVE_OVERLAP: 0\n", "x.yaml:5: TRAIN.RPN_POSITIVE_OVERLAP", "at least");
  refused("TRAIN.MICRO_BATCHES: 4\n", "x.yaml:5: TRAIN.MICRO_BATCHES",
          "2 images of a replica do not divide into 4 parts");
  const auto given = [&](const Words& words) { return [this, words] { read("", words); }; };
  expect_error(given({"FPN.MULTILEVEL_RPN", "False", "RPN.STRIDE", "8"}), "RPN.STRIDE 8",
               "should be 32");
  expect_error(given({"FAST_RCNN.ROI_BOX_HEAD", "ResNet.add_ResNet_roi_conv5_head"}),
               "FAST_RCNN.ROI_BOX_HEAD", "it needs a conv4 body");
  refused("RESNETS.RES5_DILATION: 2\n", "x.yaml:5: RESNETS.RES5_DILATION", "pyramid");
}

TEST_F(DetectorConfigTest, RefusesAnchorsWithoutAnArea) {
  refused("FPN.RPN_ASPECT_RATIOS: [0.001]\n", "x.yaml:5: FPN.RPN_ASPECT_RATIOS",
          "aspect ratio 0.001 leaves anchors of stride 4 no area");
  const std::string dense =
      "MODEL.TYPE: retinanet\nMODEL.NUM_CLASSES: 81\nRETINANET.RETINANET_ON: "
      "True\nRETINANET.ASPECT_RATIOS: [1000]\n";
  const std::string body =
      "MODEL.CONV_BODY: FPN.add_fpn_ResNet50_conv5_body\nFPN.FPN_ON: True\n"
      "FPN.MULTILEVEL_RPN: True\n";
  expect_error([&] { read_detector_config(config_files(file(dense + body)), {}); },
               "x.yaml:4: RETINANET.ASPECT_RATIOS", "no area");
}

TEST_F(DetectorConfigTest, RefusesPoolingOfOneLevelFromAPyramid) {
  expect_error(
      [&] {
        read("", {"FAST_RCNN.ROI_XFORM_METHOD", "RoIPoolF"});
      },
      "FAST_RCNN.ROI_XFORM_METHOD", "RoIPoolF pools from one level", "needs RoIAlign");
}

TEST_F(DetectorConfigTest, RefusesASectionWithoutKeys) {
  refused("TEST:\n", "x.yaml:5: TEST is a section without keys", "as in TEST.", "or remove it");
  refused("TEST: 5\n", "x.yaml:5: TEST is a section without keys");
}

TEST_F(DetectorConfigTest, SaysWhatDoesNotChangeResultsYet) {
  const auto said = notes(read("TEST: {SOFT_NMS: {ENABLED: True}, BBOX_AUG: {ENABLED: False}}\n"),
                          DetectorNoteKind::missing);
  ASSERT_EQ(1U, said.size());
  EXPECT_NE(std::string::npos, said[0].find("x.yaml:5: TEST.SOFT_NMS.ENABLED has no effect"));
}

// Keys of Detectron without a meaning here are noted. A command refuses such a key only if its row
// says so (`not_done.asked`).
TEST_F(DetectorConfigTest, NotesAndDoesNotRefuseOtherKeysWithoutEffect) {
  DetectorConfig defaults;
  int unused = 0;
  for (const ConfigKey& key : keys_of(defaults)) {
    if (!key.facts.unused || key.facts.not_done.asked) continue;
    SCOPED_TRACE(key.key);
    const bool* const* is_on = std::get_if<bool*>(&key.target);
    const std::string other = is_on ? **is_on ? "False" : "True" : "7";
    DetectorConfig config = read("", {key.key, other});
    const auto said = notes(config, DetectorNoteKind::unused);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("command line: " + key.key + " has no effect here"), std::string::npos);
    EXPECT_TRUE(notes(config, DetectorNoteKind::missing).empty());
    for (const char* command : {"train", "test", "infer", "export"})
      EXPECT_NO_THROW(refuse_not_done(keys_of(config), command, config.origins, config.path));
    ++unused;
  }
  EXPECT_GE(unused, 15);
}

// In Detectron this threshold selects the boxes that are learnt. Training accepts it while both
// thresholds are equal.
TEST_F(DetectorConfigTest, TrainingRefusesAnotherThresholdOfBoxes) {
  const auto train = [&](const Words& words) {
    DetectorConfig config = read("", words);
    refuse_not_done(keys_of(config), "train", config.origins, config.path);
  };
  expect_error(
      [&] {
        train({"TRAIN.BBOX_THRESH", "0.6"});
      },
      "command line: TRAIN.BBOX_THRESH 0.6 has no effect in this version", "`lockstep train`",
      "TRAIN.FG_THRESH also decides");
  train({"TRAIN.FG_THRESH", "0.6"});
  train({"TRAIN.BBOX_THRESH", "0.6", "TRAIN.FG_THRESH", "0.6"});
}

TEST_F(DetectorConfigTest, RefusesLevelsThatDoNotFit) {
  refused("FPN.COARSEST_STRIDE: 16\n", "x.yaml:5: FPN.COARSEST_STRIDE",
          "level 5 has a stride of 32", "cannot hold");
  refused("FPN: {}\n", "x.yaml:5: FPN is already set in line 3");
  refused("FPN.RPN_MAX_LEVEL: 7\n", "x.yaml:5: FPN.RPN_MAX_LEVEL", "EXTRA_CONV_LEVELS");
  refused("FPN.RPN_MAX_LEVEL: 7\nFPN.EXTRA_CONV_LEVELS: True\n", "level 7 has a stride of 128",
          "FPN.COARSEST_STRIDE 32 cannot hold");
  read("FPN.RPN_MAX_LEVEL: 7\nFPN.EXTRA_CONV_LEVELS: True\nFPN.COARSEST_STRIDE: 128\n");
  refused("FPN.RPN_MIN_LEVEL: 3\n", "x.yaml:5: FPN.RPN_MIN_LEVEL",
          "RoIs take levels 2 to 5, the RPN 3 to 6");
  refused("FPN.RPN_MAX_LEVEL: 4\n", "x.yaml:5: FPN.RPN_MAX_LEVEL", "2 to 5, the RPN 2 to 4");
  refused("FPN.ROI_MIN_LEVEL: 1\n", "x.yaml:5: FPN.ROI_MIN_LEVEL", "levels 1 to 5");
  refused("FPN.ROI_MAX_LEVEL: 1\n", "x.yaml:5: FPN.ROI_MAX_LEVEL", "levels 2 to 1");
  expect_error(
      [&] {
        read("", {"FPN.MULTILEVEL_ROIS", "False"});
      },
      "command line: FPN.MULTILEVEL_ROIS");
  expect_error(
      [&] {
        read("", {"FPN.FPN_ON", "False"});
      },
      "command line: FPN.FPN_ON does not fit: FPN.FPN_ON is false, but ", "set FPN.FPN_ON to True");
  // Only the body was set, so the other key must be changed.
  expect_error(
      [&] {
        read_detector_config(
            config_files(file("MODEL: {TYPE: generalized_rcnn, NUM_CLASSES: 3, CONV_BODY: "
                              "FPN.add_fpn_ResNet50_conv5_body}\n")),
            {});
      },
      "x.yaml:1: MODEL.CONV_BODY does not fit: FPN.FPN_ON is false", "set FPN.FPN_ON to True");
  expect_error(
      [&] {
        read("", {"MODEL.CONV_BODY", "ResNet.add_ResNet50_conv4_body"});
      },
      "FPN.FPN_ON is true, but");
}

TEST_F(DetectorConfigTest, RefusesHeadsThatDoNotFit) {
  const std::string mask_head = "MRCNN.ROI_MASK_HEAD: mask_rcnn_heads.mask_rcnn_fcn_head_";
  refused("MODEL.MASK_ON: True\n", "x.yaml:5: MODEL.MASK_ON is true, but there is no mask head");
  refused("MODEL.MASK_ON: True\n" + mask_head + "v1up\nMRCNN.RESOLUTION: 28\n",
          "x.yaml:7: MRCNN.RESOLUTION", "should be 14");
  refused("MODEL.MASK_ON: True\n" + mask_head + "v1up\nMRCNN.UPSAMPLE_RATIO: 2\n",
          "x.yaml:7: MRCNN.UPSAMPLE_RATIO", "should be 28");
  read("MODEL.MASK_ON: True\n" + mask_head + "v0upshare\nMRCNN.ROI_XFORM_RESOLUTION: 14\n");
  const std::string points =
      "MODEL.KEYPOINTS_ON: True\nKRCNN.ROI_KEYPOINTS_HEAD: add_roi_pose_head_v1convX\n";
  refused("MODEL.KEYPOINTS_ON: True\n", "x.yaml:5: MODEL.KEYPOINTS_ON", "no keypoint head");
  refused(points, "x.yaml:5: MODEL.KEYPOINTS_ON", "KRCNN.NUM_KEYPOINTS is -1");
  const std::string more = points + "KRCNN: {NUM_KEYPOINTS: 17, UP_SCALE: 2, ";
  refused(more + "HEATMAP_SIZE: 56}\n", "x.yaml:7: KRCNN.HEATMAP_SIZE", "should be 14");
  read(more + "HEATMAP_SIZE: 28, USE_DECONV_OUTPUT: True}\n");
  expect_error(
      [&] {
        read("", {"FAST_RCNN.ROI_BOX_HEAD", ""});
      },
      "FAST_RCNN.ROI_BOX_HEAD is missing");
  expect_error([&] { read("", {"MODEL.CONV_BODY", ""}); }, "MODEL.CONV_BODY is missing");
}

TEST_F(DetectorConfigTest, RefusesOtherThingsThatDoNotFit) {
  for (const char* classes : {"1", "0", "-1"})
    expect_error(
        [&] {
          read("", {"MODEL.NUM_CLASSES", classes});
        },
        "command line: MODEL.NUM_CLASSES", "should be at least 2");
  expect_error(
      [&] {
        read("", {"MODEL.FASTER_RCNN", "False"});
      },
      "command line: MODEL.FASTER_RCNN", "no proposals, and there is no RPN");
  read("TRAIN.PROPOSAL_FILES: ('a.pkl',)\n", {"MODEL.FASTER_RCNN", "False"});
  refused("FPN.USE_GN: True\nFPN.DIM: 100\n", "x.yaml:6: FPN.DIM",
          "32 groups do not divide the 100");
  refused("FPN.USE_GN: True\nGROUP_NORM: {DIM_PER_GP: 24, NUM_GROUPS: -1}\n",
          "x.yaml:6: GROUP_NORM.DIM_PER_GP", "24 channels of a group do not divide the 256");
  refused("FPN.USE_GN: True\nGROUP_NORM.DIM_PER_GP: 8\n", "x.yaml:6: GROUP_NORM.DIM_PER_GP",
          "should be -1");
  refused("RESNETS: {TRANS_FUNC: basic_gn_transformation, NUM_GROUPS: 32}\n", "RESNETS.NUM_GROUPS");
  refused("RESNETS: {STEM_FUNC: basic_gn_stem, STEM_OUT_CHANNELS: 20}\n",
          "x.yaml:5: RESNETS.STEM_OUT_CHANNELS");
  refused("RETINANET.RETINANET_ON: True\n", "x.yaml:5: RETINANET.RETINANET_ON", "MODEL.TYPE is");
  refused("TRAIN.FREEZE_AT: 1\n", "0, 2, 3, 4 or 5");
  refused("TRAIN.BG_THRESH_LO: 0.6\n", "x.yaml:5: TRAIN.BG_THRESH_LO leaves no background");
  refused("MODEL.BBOX_REG_WEIGHTS: (1, 2, 3)\n", "x.yaml:5: MODEL.BBOX_REG_WEIGHTS",
          "four numbers");
}

}  // namespace
}  // namespace lockstep::testing
