// SPDX-License-Identifier: Apache-2.0
// The values of MODEL.TYPE that mean a detector.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct DetectorType {
  std::string name;
  std::string now;               // today's name, if that is another
  bool frozen_features = false;  // the name also means TRAIN.FREEZE_CONV_BODY
  bool is_hard_wired = false;    // its body and heads are part of the name, not of other keys
  bool has_rpn = false;          // of those: the name means an RPN, too
};
const std::vector<DetectorType>& detector_types();
// Null for every other task.
const DetectorType* detector_type(const std::string& name);

}  // namespace lockstep
