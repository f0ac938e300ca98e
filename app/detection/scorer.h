// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/predict/scorer.h"

namespace lockstep {

// Scores a detector on each data set of TEST.DATASETS and writes the boxes found. Never overwrites
// the configuration's files.
std::unique_ptr<Scorer> detector_scorer(DetectorConfig config, std::vector<std::string> files);

}  // namespace lockstep
