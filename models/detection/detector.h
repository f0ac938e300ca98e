// SPDX-License-Identifier: Apache-2.0
// Builds detectors from options as in Detectron's YAML files.
#pragma once

#include <string>
#include <vector>

#include "lockstep/net.h"
#include "models/detection/options.h"

namespace lockstep {

// A detector of boxes. Throws for options that are wrong or that this version does not support. The
// error names the key.
ModelFn detector(const DetectorOptions& options);

// Checks options without building: throws as detector() does.
void check_detector(const DetectorOptions& options);

// True if the detector has a second stage, which classifies RoIs.
bool has_box_head(const DetectorOptions& options);

// Parts in the options that detector() does not build: "the mask head (MODEL.MASK_ON)", ..
std::vector<std::string> left_out_of(const DetectorOptions& options);

}  // namespace lockstep
