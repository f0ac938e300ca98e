// SPDX-License-Identifier: Apache-2.0
// The curves of a detector's report.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/detection/train/training_charts.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

std::vector<std::string> metrics_of(const std::string& model,
                                    const std::vector<std::string>& words) {
  std::vector<std::string> metrics;
  for (const CurveChart& chart : training_charts(small_detector_config(model, words)))
    for (const Curve& curve : chart.curves) metrics.push_back(curve.metric);
  return metrics;
}

TEST(TrainingCharts, HaveTheLossesAndScoresOfTheHeads) {
  const std::vector<std::string> masks{"MODEL.MASK_ON", "True", "MRCNN.ROI_MASK_HEAD",
                                       "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs"};
  const std::vector<std::string> points{"MODEL.KEYPOINTS_ON",
                                        "True",
                                        "KRCNN.ROI_KEYPOINTS_HEAD",
                                        "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
                                        "KRCNN.NUM_KEYPOINTS",
                                        "5",
                                        "KRCNN.HEATMAP_SIZE",
                                        "28",
                                        "KRCNN.UP_SCALE",
                                        "2",
                                        "KRCNN.USE_DECONV_OUTPUT",
                                        "True",
                                        "KRCNN.ROI_XFORM_RESOLUTION",
                                        "7"};
  const std::vector<std::string> losses{"loss", "test_loss", "loss_cls", "loss_bbox"};
  const std::vector<std::string> scores{"test_ap", "test_ap50", "test_ap75"};
  const auto joined = [](std::vector<std::string> list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  EXPECT_EQ(metrics_of(kSmallFaster, {}), joined(losses, scores));
  EXPECT_EQ(metrics_of(kSmallFaster, {"TEST.LOSS", "False"}),
            joined({"loss", "loss_cls", "loss_bbox"}, scores));
  EXPECT_EQ(metrics_of(kSmallRpn, {}),
            (std::vector<std::string>{"loss", "test_loss", "test_ar100", "test_ar1000"}));
  EXPECT_EQ(metrics_of(kSmallFaster, masks),
            joined(joined(joined(losses, {"loss_mask"}), scores),
                   {"test_mask_ap", "test_mask_ap50", "test_mask_ap75"}));
  EXPECT_EQ(metrics_of(kSmallFaster, points),
            joined(joined(joined(losses, {"loss_kps"}), scores),
                   {"test_keypoint_ap", "test_keypoint_ap50", "test_keypoint_ap75"}));
  std::vector<std::string> by_constant = points;
  by_constant.insert(by_constant.end(), {"KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS", "False"});
  const std::vector<std::string> shown = metrics_of(kSmallFaster, by_constant);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "loss_kps_normalized"), 1);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "loss_kps"), 0);
}

}  // namespace
}  // namespace lockstep::testing
