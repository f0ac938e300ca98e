// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/detection/config/detector_config.h"
#include "app/predict/infer.h"

namespace lockstep {

struct DetectorRun {
  std::string folder;
  std::string weights;  // .safetensors, or a model.onnx with values
};

// Prints the objects in each picture. Draws them and writes them as JSON into the folder
// options.out unless it is empty. An unreadable picture does not stop the others.
int find_in_pictures(DetectorConfig config, const DetectorRun& run, const InferOptions& options);

}  // namespace lockstep
