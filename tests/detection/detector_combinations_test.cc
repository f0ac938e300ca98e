// SPDX-License-Identifier: Apache-2.0
// Every family of detectors with two replicas, in bfloat16, and resumed.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/detection/scene_training.h"

namespace lockstep::testing {
namespace {

const std::string kSmallVgg = "VGG.CHANNEL_DIVISOR: 16\n";
const std::string kVgg16Head = kSmallVgg + "FAST_RCNN.ROI_BOX_HEAD: VGG16.add_VGG16_roi_fc_head\n";
const std::string kVggMHead =
    kSmallVgg + "FAST_RCNN.ROI_BOX_HEAD: VGG_CNN_M_1024.add_VGG_CNN_M_1024_roi_fc_head\n";
const std::string kFedFile = "TRAIN.PROPOSAL_FILES: [proposals.safetensors]\n";
const std::string kRfcnBody =
    "MODEL: {TYPE: rfcn, CONV_BODY: ResNet.add_ResNet18_conv5_body, NUM_CLASSES: 5}\n"
    "RESNETS.RES5_DILATION: 2\n";

std::vector<SmallFamily> families() {
  return {{"faster_fpn", kSmallFaster},
          {"fast_fpn", kSmallFast, {}, true},
          {"retinanet", kSmallRetinaNet},
          {"faster_vgg16",
           "MODEL: {TYPE: generalized_rcnn, CONV_BODY: VGG16.add_VGG16_conv5_body, NUM_CLASSES: 5, "
           "FASTER_RCNN: True}\n" +
               kVgg16Head,
           kOneMap},
          {"fast_vgg_m",
           "MODEL: {TYPE: generalized_rcnn, CONV_BODY: "
           "VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body, NUM_CLASSES: 5}\n" +
               kVggMHead + kFedFile,
           kOneMap, true},
          {"rfcn", kRfcnBody + kFedFile, kOneMap, true},
          {"rfcn_with_rpn",
           kRfcnBody + "MODEL.FASTER_RCNN: True\nRFCN.REDUCED_CHANNELS: 12\n" +
               "MODEL.CLS_AGNOSTIC_BBOX_REG: True\n",
           kOneMap},
          {"mask_fpn", kSmallMask},
          {"keypoint_fpn", kSmallKeypoints},
          {"stage_5_of_all_heads", kSmallStage5, kOneMap}};
}

class DetectorCombinations : public ::testing::TestWithParam<SmallFamily> {};

TEST_P(DetectorCombinations, TwoReplicasTrainAsOneWithAllPictures) {
  const std::vector<std::string> shared{"TRAIN.SHARED_NORMALISERS", "true"};
  SceneTraining one(GetParam(), 1, shared), two(GetParam(), 2, shared);
  const float loss = one.step(0);
  EXPECT_NEAR(two.step(0), loss, 1e-5 * std::abs(loss));
  EXPECT_LT(difference(one.states(), two.states()), 1e-5);
}

TEST_P(DetectorCombinations, SixteenBitsAgreeWithFloat32) {
  SceneTraining wide(GetParam(), 1), narrow(GetParam(), 1, {"PRECISION", "bfloat16"});
  const float loss = wide.step(0);
  EXPECT_NEAR(narrow.step(0), loss, 0.03 * std::abs(loss));
  for (int64_t step = 1; step < 4; ++step) EXPECT_TRUE(std::isfinite(narrow.step(step)));
}

TEST_P(DetectorCombinations, AResumedRunGivesTheSameBits) {
  SceneTraining whole(GetParam(), 2), first(GetParam(), 2), second(GetParam(), 2);
  for (int64_t step = 0; step < 4; ++step) whole.step(step);
  for (int64_t step = 0; step < 2; ++step) first.step(step);
  second.detector.session.load(first.detector.session.save());
  for (int64_t step = 2; step < 4; ++step) second.step(step);
  EXPECT_TRUE(whole.detector.session.save() == second.detector.session.save());
}

INSTANTIATE_TEST_SUITE_P(Families, DetectorCombinations, ::testing::ValuesIn(families()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::testing
