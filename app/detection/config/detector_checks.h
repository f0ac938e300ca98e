// SPDX-License-Identifier: Apache-2.0
// The parts of check_detector(), which share access to the keys of a configuration.
#pragma once

#include <string>
#include <vector>

#include "app/config/read.h"
#include "app/detection/config/detector_config.h"
#include "lockstep/error.h"
#include "models/detection/catalogue.h"
#include "models/detection/families.h"

namespace lockstep {

class DetectorKeys {
 public:
  explicit DetectorKeys(const DetectorConfig& config)
      : config_(config),
        network_(config.network),
        model_(config.network.model),
        family_(family_of(config.network)) {}

 protected:
  // Throws with the origin of the first of these keys that a file or the command line set.
  template <class... Parts>
  void need(bool holds, const std::vector<std::string>& keys, const Parts&... parts) const {
    if (!holds) fail(blamed(keys), " ", parts...);
  }
  Phrase blamed(const std::vector<std::string>& keys) const {
    return {config_.origins.blame(keys, config_.path),
            {.keys = keys, .place = config_.origins.place_of(keys, config_.path)}};
  }
  bool reads_box_head() const { return family_ && family_->has_roi_head() && !model_.rpn_only; }

  // Null if the file names no head.
  const BoxHeadFunction* box_head() const {
    return function_in(box_head_functions(), network_.fast_rcnn.roi_box_head);
  }
  const MaskHeadFunction* mask_head() const {
    return function_in(mask_head_functions(), network_.mrcnn.roi_mask_head);
  }
  const KeypointHeadFunction* keypoint_head() const {
    return function_in(keypoint_head_functions(), network_.krcnn.roi_keypoints_head);
  }

  const DetectorConfig& config_;
  const DetectorOptions& network_;
  const DetectionModelOptions& model_;
  const DetectorFamily* family_;  // null for an unknown MODEL.TYPE
};

// How tests find and merge results: TEST.SOFT_NMS, BBOX_VOTE and BBOX_AUG.
void check_testing(const DetectorConfig& config);
// The sizes of heads, and the groups of convolutions and group norms.
void check_heads_fit(const DetectorConfig& config);

}  // namespace lockstep
