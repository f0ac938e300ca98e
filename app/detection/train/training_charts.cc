// SPDX-License-Identifier: Apache-2.0
#include "app/detection/train/training_charts.h"

#include "models/detection/detector.h"

namespace lockstep {
namespace {

CurveChart precision_curves(const std::string& title, const std::string& prefix) {
  return {title,
          {{prefix + "ap", "AP", "orange", true},
           {prefix + "ap50", "AP50", "blue", true},
           {prefix + "ap75", "AP75", "green", true}},
          Scale::from_zero};
}

}  // namespace

std::vector<CurveChart> training_charts(const DetectorConfig& config) {
  const DetectorOptions& network = config.network;
  CurveChart losses{"Loss", {{"loss", "all", "blue"}}, Scale::log};
  if (config.test.loss) losses.curves.push_back({"test_loss", "held out", "orange", true});
  const bool heads = has_box_head(network);
  const bool masks = heads && network.model.mask_on, points = heads && network.model.keypoints_on;
  if (heads) {
    losses.curves.push_back({"loss_cls", "classes", "green"});
    losses.curves.push_back({"loss_bbox", "boxes", "purple"});
  }
  if (masks) losses.curves.push_back({"loss_mask", "masks", "teal dashed"});
  const bool is_mean = network.krcnn.normalize_by_visible_keypoints;
  if (points)
    losses.curves.push_back(
        {is_mean ? "loss_kps" : "loss_kps_normalized", "keypoints", "rose dotted"});
  if (network.model.rpn_only)
    return {losses,
            {"Recall of proposals",
             {{"test_ar100", "AR@100", "orange", true}, {"test_ar1000", "AR@1000", "blue", true}},
             Scale::from_zero}};
  std::vector<CurveChart> charts{losses, precision_curves("Average precision", "test_")};
  if (masks) charts.push_back(precision_curves("Average precision of masks", "test_mask_"));
  if (points)
    charts.push_back(precision_curves("Average precision of keypoints", "test_keypoint_"));
  return charts;
}

}  // namespace lockstep
