// SPDX-License-Identifier: Apache-2.0
// The views in which a test looks for the masks and points of boxes that it has found already.
#pragma once

#include <vector>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/find/found_boxes.h"
#include "app/detection/find/views.h"

namespace lockstep {

struct ShapeView {
  ViewRules rules;
  bool of_masks = false, of_points = false;
};

// The views of TEST.MASK_AUG and TEST.KPS_AUG, and the boxes that need them.
class ShapeViews {
 public:
  // For a network with a mask head or a keypoint head. `config` must outlive this object.
  ShapeViews(const DetectorConfig& config, KeypointRules points);

  const DetectorConfig& config() const { return config_; }
  const KeypointRules& points() const { return points_; }
  bool has_masks() const { return masks_; }  // the network predicts masks
  bool has_points() const { return keypoints_; }

  // Without MASK_AUG and KPS_AUG, the plain view.
  const std::vector<ShapeView>& views() const { return views_; }
  // True if the plain view is the only one, and boxes are found in this view alone, too.
  bool one_view_for_all() const;

  bool needs_mask(const ShapeView& view) const { return masks_ && view.of_masks; }
  bool needs_points(const ShapeView& view, const FoundBox& box) const;

 private:
  bool suits_size(const ViewRules& view, const Corners& box) const;

  const DetectorConfig& config_;
  KeypointRules points_;
  bool masks_, keypoints_;
  std::vector<ShapeView> views_;
};

}  // namespace lockstep
