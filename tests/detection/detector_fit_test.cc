// SPDX-License-Identifier: Apache-2.0
// Refuses keys of a detector's configuration that do not fit together, and names their location.
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

TEST_F(DetectorConfigTest, RefusesPartsThatDoNotFitARfcnOrAVgg) {
  const auto given = [&](Words words) {
    words.insert(words.end(), {"FPN.MULTILEVEL_ROIS", "False", "FPN.MULTILEVEL_RPN", "False"});
    return [this, words] { read("", words); };
  };
  expect_error(given({"MODEL.TYPE", "rfcn"}), "MODEL.CONV_BODY", "is a feature pyramid",
               "MODEL.TYPE rfcn reads one feature map");
  expect_error(given({"MODEL.TYPE", "rfcn", "MODEL.CONV_BODY", "ResNet.add_ResNet50_conv5_body",
                      "FPN.FPN_ON", "False", "MODEL.RPN_ONLY", "True"}),
               "command line: MODEL.RPN_ONLY is true, but MODEL.TYPE rfcn has a second stage");
  const Words vgg{"MODEL.CONV_BODY", "VGG16.add_VGG16_conv5_body", "FPN.FPN_ON", "False"};
  Words stage_5 = vgg, stride = vgg;
  stage_5.insert(stage_5.end(), {"FAST_RCNN.ROI_BOX_HEAD", "ResNet.add_ResNet_roi_conv5_head"});
  expect_error(given(stage_5), "FAST_RCNN.ROI_BOX_HEAD is stage 5 of a ResNet",
               "VGG16.add_VGG16_conv5_body is no ResNet");
  stride.insert(stride.end(), {"RPN.STRIDE", "32"});
  expect_error(given(stride), "RPN.STRIDE 32 should be 16");
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

// Views of masks and of heatmaps need the head that predicts them.
TEST_F(DetectorConfigTest, RefusesViewsOfHeadsThatTheNetworkLacks) {
  const std::string masks =
                        "MODEL.MASK_ON: True\nMRCNN: {ROI_MASK_HEAD: "
                        "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs, RESOLUTION: 28, "
                        "ROI_XFORM_RESOLUTION: 14}\n",
                    mask_views = "TEST.MASK_AUG.ENABLED: True\n";
  const auto views = [&](const std::string& more) {
    const DetectorConfig config = read(more);
    EXPECT_TRUE(notes(config, DetectorNoteKind::unused).empty());
    return config.test;
  };
  EXPECT_TRUE(views(mask_views + masks).mask_aug.enabled);
  EXPECT_TRUE(views("TEST.BBOX_AUG.ENABLED: True\n").bbox_aug.enabled);
  refused(mask_views, "x.yaml:5: TEST.MASK_AUG.ENABLED is true, but the network predicts no masks",
          "or MODEL.MASK_ON to true");
  refused("TEST.KPS_AUG.ENABLED: True\n" + masks,
          "x.yaml:5: TEST.KPS_AUG.ENABLED is true, but the network predicts no heatmaps",
          "or MODEL.KEYPOINTS_ON to true");
  refused("KRCNN.NMS_OKS: True\n",
          "x.yaml:5: KRCNN.NMS_OKS is true, but the network predicts no keypoints");
  refused("TEST.MASK_AUG: {ENABLED: True, SCALE_SIZE_DEP: True}\n" + masks,
          "x.yaml:5: TEST.MASK_AUG.SCALE_SIZE_DEP is true, but Detectron chooses scales by the "
          "size of an object only for keypoints");
  for (const char* part : {"TEST.MASK_AUG.HEUR: HM_AVG\n", "TEST.KPS_AUG.HEUR: SOFT_AVG\n"})
    refused(part, "x.yaml:5: TEST.", "HEUR", "_AVG");
}

TEST_F(DetectorConfigTest, RefusesViewsThatDetectronForbids) {
  const auto refused_views = [&](const std::string& more, const std::string& why) {
    refused("TEST.BBOX_AUG: {ENABLED: True, " + more + "}\n", "x.yaml:5: TEST.BBOX_AUG.", why);
  };
  refused_views("SCALE_SIZE_DEP: True", "SCALE_SIZE_DEP is true, but Detectron chooses scales");
  refused_views("SCORE_HEUR: AVG", "SCORE_HEUR does not fit: SCORE_HEUR AVG, but COORD_HEUR UNION");
  refused_views("COORD_HEUR: ID", "COORD_HEUR does not fit: SCORE_HEUR UNION, but COORD_HEUR ID");
  refused_views("SCORE_HEUR: ID, COORD_HEUR: AVG",
                "SCORE_HEUR does not fit: SCORE_HEUR ID needs the same proposals in all views");
  refused_views("SCORE_HEUR: MAX", "SCORE_HEUR");
  const std::string views = "TEST.BBOX_AUG.ENABLED: True\n",
                    votes = "TEST.BBOX_VOTE.ENABLED: True\n",
                    soft = "TEST.SOFT_NMS.ENABLED: True\n";
  const Words alone{"MODEL.FASTER_RCNN", "False", "MODEL.RPN_ONLY", "True"},
      dense{"MODEL.TYPE", "retinanet", "MODEL.FASTER_RCNN", "False", "RETINANET.RETINANET_ON",
            "True"};
  const auto refused_with = [&](const std::string& more, const Words& words, const auto&... parts) {
    SCOPED_TRACE(more);
    expect_error([&] { read(more, words); }, parts...);
  };
  refused_with(views, alone, "x.yaml:5: TEST.BBOX_AUG.ENABLED is true, but Detectron merges views ",
               "set it to false for an RPN alone");
  refused_with(views, dense, "set it to false for RetinaNet");
  refused_with(votes, alone, "x.yaml:5: TEST.BBOX_VOTE.ENABLED is true, but Detectron votes only ",
               "set it to false for an RPN alone");
  refused_with(votes, dense, "set it to false for RetinaNet");
  refused_with(soft, alone,
               "x.yaml:5: TEST.SOFT_NMS.ENABLED is true, but an RPN alone has no classes");
  refused_with(soft, {"TEST.SOFT_NMS.SIGMA", "0"}, "TEST.SOFT_NMS.SIGMA should be more than 0");
  refused_with(
      votes,
      {"TEST.BBOX_VOTE.SCORING_METHOD", "TEMP_AVG", "TEST.BBOX_VOTE.SCORING_METHOD_BETA", "0"},
      "TEST.BBOX_VOTE.SCORING_METHOD_BETA does not fit: SCORING_METHOD TEMP_AVG divides by "
      "the beta of 0");
  EXPECT_TRUE(read(soft, dense).network.test.soft_nms.enabled);
  // Proposals of a file are the same in all views.
  EXPECT_EQ(read("TEST.BBOX_AUG: {ENABLED: True, SCORE_HEUR: AVG, COORD_HEUR: ID}\n"
                 "TRAIN.PROPOSAL_FILES: [a.safetensors]\n",
                 {"MODEL.FASTER_RCNN", "False"})
                .test.bbox_aug.coord_heur,
            "ID");
}

// Keys of Detectron without a meaning here are noted, and refused by no command.
TEST_F(DetectorConfigTest, NotesAndDoesNotRefuseKeysWithoutEffect) {
  DetectorConfig defaults;
  int unused = 0, on_minibatches = 0;
  for (const ConfigKey& key : keys_of(defaults)) {
    if (!key.facts.unused) continue;
    on_minibatches += key.key == "KRCNN.MIN_KEYPOINT_COUNT_FOR_VALID_MINIBATCH" ? 1 : 0;
    SCOPED_TRACE(key.key);
    const bool* const* is_on = std::get_if<bool*>(&key.target);
    const std::string other = is_on ? **is_on ? "False" : "True" : "7";
    DetectorConfig config = read("", {key.key, other});
    const auto said = notes(config, DetectorNoteKind::unused);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("command line: " + key.key + " has no effect here"), std::string::npos);
    ++unused;
  }
  EXPECT_GE(unused, 15);
  EXPECT_EQ(on_minibatches, 1);
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
  read("MODEL.MASK_ON: True\n" + mask_head + "v0up\nMRCNN.ROI_XFORM_RESOLUTION: 14\n");
  const std::string points =
      "MODEL.KEYPOINTS_ON: True\nKRCNN.ROI_KEYPOINTS_HEAD: add_roi_pose_head_v1convX\n";
  refused("MODEL.KEYPOINTS_ON: True\n", "x.yaml:5: MODEL.KEYPOINTS_ON", "no keypoint head");
  refused(points, "x.yaml:5: MODEL.KEYPOINTS_ON", "KRCNN.NUM_KEYPOINTS is -1");
  const std::string more = points + "KRCNN: {NUM_KEYPOINTS: 17, UP_SCALE: 2, ";
  refused(more + "HEATMAP_SIZE: 56}\n", "x.yaml:7: KRCNN.HEATMAP_SIZE", "should be 14");
  read(more + "HEATMAP_SIZE: 28, USE_DECONV_OUTPUT: True}\n");
  const std::string of_stage_5 =
      "MODEL.KEYPOINTS_ON: True\nKRCNN: {ROI_KEYPOINTS_HEAD: "
      "add_ResNet_roi_conv5_head_for_keypoints, NUM_KEYPOINTS: 17, UP_SCALE: 2, "
      "USE_DECONV_OUTPUT: True, ROI_XFORM_RESOLUTION: 14, ";
  refused(of_stage_5 + "HEATMAP_SIZE: 56}\n", "x.yaml:6: KRCNN.HEATMAP_SIZE",
          "should be 28, 7 cells of KRCNN.ROI_XFORM_RESOLUTION 14");
  read(of_stage_5 + "HEATMAP_SIZE: 28, DILATION: 2}\n");
  expect_error(
      [&] {
        read("", {"FAST_RCNN.ROI_BOX_HEAD", ""});
      },
      "FAST_RCNN.ROI_BOX_HEAD is missing");
  expect_error([&] { read("", {"MODEL.CONV_BODY", ""}); }, "MODEL.CONV_BODY is missing");
}

TEST_F(DetectorConfigTest, RefusesHeadsOfShapesThatDoNotFit) {
  const std::string masks =
      "MODEL.MASK_ON: True\nMRCNN: {ROI_MASK_HEAD: mask_rcnn_fcn_head_v1up, RESOLUTION: ";
  const std::string points =
      "MODEL.KEYPOINTS_ON: True\nKRCNN: {ROI_KEYPOINTS_HEAD: add_roi_pose_head_v1convX, "
      "NUM_KEYPOINTS: 17, USE_DECONV_OUTPUT: True, HEATMAP_SIZE: ";
  read(masks + "14}\n");
  read(points + "14}\n");
  refused(masks + "42, UPSAMPLE_RATIO: 3}\n", "x.yaml:6: MRCNN.UPSAMPLE_RATIO 3 should be 1 or an ",
          "even number");
  refused(masks + "56, USE_FC_OUTPUT: True, UPSAMPLE_RATIO: 2}\n",
          "x.yaml:6: MRCNN.UPSAMPLE_RATIO 2 should be 1 with MRCNN.USE_FC_OUTPUT");
  read(masks + "56, USE_FC_OUTPUT: True}\n");
  refused(masks + "14, ROI_XFORM_METHOD: RoIPoolF}\n", "x.yaml:6: MRCNN.ROI_XFORM_METHOD",
          "needs RoIAlign");
  refused(masks + "14}\nTRAIN.FG_FRACTION: 0.001\n", "x.yaml:7: TRAIN.FG_FRACTION",
          "MODEL.MASK_ON would learn nothing");
  refused(points + "42, UP_SCALE: 3}\n", "x.yaml:6: KRCNN.UP_SCALE 3 should be 1 or an even");
  refused(points + "14, DECONV_KERNEL: 3}\n", "x.yaml:6: KRCNN.DECONV_KERNEL 3 should be even");
  refused(points + "14, CONV_HEAD_KERNEL: 2}\n", "x.yaml:6: KRCNN.CONV_HEAD_KERNEL 2 ",
          "should be odd");
  refused(points + "14, DILATION: 2}\n", "x.yaml:6: KRCNN.DILATION 2 should be 1");
  refused(points + "14, ROI_XFORM_METHOD: RoIPoolF}\n", "x.yaml:6: KRCNN.ROI_XFORM_METHOD");
  const Words alone{"MODEL.FASTER_RCNN", "False", "MODEL.RPN_ONLY", "True"},
      dense{"MODEL.TYPE", "retinanet", "MODEL.FASTER_RCNN", "False", "RETINANET.RETINANET_ON",
            "True"};
  for (const auto& [text, key] : {std::pair{masks, "MASK_ON"}, {points, "KEYPOINTS_ON"}}) {
    SCOPED_TRACE(key);
    const std::string on = join("x.yaml:5: MODEL.", key, " is true, but MODEL.");
    expect_error([&, shapes = text] { read(shapes + "14}\n", alone); }, on + "RPN_ONLY is true");
    expect_error([&, shapes = text] { read(shapes + "14}\n", dense); },
                 on + "TYPE retinanet has no RoI heads");
  }
}

// A mask head that shares stage 5 with the box head pools as the box head does.
TEST_F(DetectorConfigTest, RefusesASharedStage5ThatDiffers) {
  const std::string shared =
      "MODEL.MASK_ON: True\nMRCNN: {ROI_MASK_HEAD: mask_rcnn_fcn_head_v0upshare, "
      "ROI_XFORM_RESOLUTION: 14, RESOLUTION: 14, DILATION: ";
  refused(shared + "1}\n", "x.yaml:6: MRCNN.ROI_MASK_HEAD", "shares the box head's stage 5",
          "FAST_RCNN.ROI_BOX_HEAD fast_rcnn_heads.add_roi_2mlp_head lacks");
  const Words one_map{"MODEL.CONV_BODY",
                      "ResNet.add_ResNet50_conv4_body",
                      "FPN.FPN_ON",
                      "False",
                      "FPN.MULTILEVEL_RPN",
                      "False",
                      "FPN.MULTILEVEL_ROIS",
                      "False",
                      "FAST_RCNN.ROI_BOX_HEAD",
                      "ResNet.add_ResNet_roi_conv5_head",
                      "FAST_RCNN.ROI_XFORM_METHOD",
                      "RoIAlign",
                      "FAST_RCNN.ROI_XFORM_RESOLUTION",
                      "14",
                      "FAST_RCNN.ROI_XFORM_SAMPLING_RATIO",
                      "0"};
  const auto with = [&](const std::string& key, const std::string& value) {
    Words words = one_map;
    words.insert(words.end(), {key, value});
    return words;
  };
  EXPECT_TRUE(read(shared + "1}\n", one_map).network.model.mask_on);
  expect_error([&] { read(shared + "2}\n", one_map); }, "x.yaml:6: MRCNN.DILATION 2 should be 1");
  for (const auto& [key, value] : {std::pair{"ROI_XFORM_METHOD", "RoIPoolF"},
                                   {"ROI_XFORM_RESOLUTION", "7"},
                                   {"ROI_XFORM_SAMPLING_RATIO", "2"}}) {
    const std::string name = key;
    const Words words = with("FAST_RCNN." + name, value);
    expect_error([&] { read(shared + "1}\n", words); }, "MRCNN." + name,
                 "should be FAST_RCNN." + name, "shares the box head's stage 5");
  }
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
