// SPDX-License-Identifier: Apache-2.0
// MODEL.TYPE decides by which table of keys a CONFIG.yaml is read.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"

namespace lockstep {

// A value of MODEL.TYPE that means a detector.
struct DetectorType {
  std::string name;
  std::string now;               // today's name, if that is another
  bool frozen_features = false;  // the name also means TRAIN.FREEZE_CONV_BODY
  bool is_hard_wired = false;    // its body and heads are part of the name, not of other keys
};
const std::vector<DetectorType>& detector_types();
// Null for every other task.
const DetectorType* detector_type(const std::string& name);

// Whether files and words (KEY VALUE ..) describe a detector. Throws for a type that is no model's
// and nearly a detector's.
bool is_detector(const ConfigFiles& files, const std::vector<std::string>& words);

// Throws if it is one, where only a classifier will do.
void refuse_detector(const ConfigFiles& files, const std::vector<std::string>& words);

}  // namespace lockstep
