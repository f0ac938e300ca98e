// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/detection/detector_config.h"
#include "app/predict/scorer.h"

namespace lockstep {

// On each data set of TEST.DATASETS. Writes the boxes that are found, too, and over none of the
// files that the configuration was read from.
std::unique_ptr<Scorer> detector_scorer(DetectorConfig config, std::vector<std::string> files);

}  // namespace lockstep
