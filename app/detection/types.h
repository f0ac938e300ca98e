// SPDX-License-Identifier: Apache-2.0
// The values of MODEL.TYPE that mean a detector.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct DetectorType {
  std::string name;
  std::string now;               // the present name, if it is different
  bool frozen_features = false;  // the name also means TRAIN.FREEZE_CONV_BODY
  bool is_hard_wired = false;    // the name chooses the body and heads, not other keys
  bool has_rpn = false;          // if hard-wired: the name also means an RPN
};
const std::vector<DetectorType>& detector_types();
// Null for the type of another task.
const DetectorType* detector_type(const std::string& name);

}  // namespace lockstep
