// SPDX-License-Identifier: Apache-2.0
// The keys that, besides MODEL.FREEZE, choose the trained parts of a network in an ONNX file.
#pragma once

#include <string>
#include <vector>

#include "app/config/key.h"

namespace lockstep {

struct TrainedKeys {
  std::vector<std::string> train;        // MODEL.TRAIN
  std::vector<std::string> batch_norms;  // MODEL.TRAIN_BATCH_NORM: patterns; {"*"}: all
};
ConfigKeys keys_of(TrainedKeys& keys);

}  // namespace lockstep
