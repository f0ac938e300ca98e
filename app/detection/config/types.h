// SPDX-License-Identifier: Apache-2.0
// The values of MODEL.TYPE that mean a detector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct DetectorType {
  std::string name;
  std::string now;               // the present name, if it is different
  bool frozen_features = false;  // the name also means TRAIN.FREEZE_CONV_BODY
  // Names of a whole network, which also mean the values of other keys. Empty, false, 0: the name
  // says nothing about the key.
  std::string body = "";         // MODEL.CONV_BODY
  std::string box_head = "";     // FAST_RCNN.ROI_BOX_HEAD
  bool rpn_only = false;         // MODEL.RPN_ONLY
  bool faster_rcnn = false;      // MODEL.FASTER_RCNN
  int64_t reduced_channels = 0;  // RFCN.REDUCED_CHANNELS
  bool is_hard_wired() const { return !body.empty(); }
};
const std::vector<DetectorType>& detector_types();
// Null for the type of another task.
const DetectorType* detector_type(const std::string& name);

}  // namespace lockstep
