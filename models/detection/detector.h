// SPDX-License-Identifier: Apache-2.0
// Detectors by the names of Detectron's YAML files.
#pragma once

#include <string>
#include <vector>

#include "builders/net/net.h"
#include "models/detection/options.h"

namespace lockstep {

// A detector of boxes. Throws naming the key that does not fit, or that this version does not
// build.
ModelFn detector(const DetectorOptions& options);

// Checks options without building: throws as detector() does.
void check_detector(const DetectorOptions& options);

// Whether there is a second stage, which classifies RoIs.
bool has_box_head(const DetectorOptions& options);

// What the options ask for beyond boxes, which detector() leaves out: "the mask head", ..
std::vector<std::string> left_out_of(const DetectorOptions& options);

}  // namespace lockstep
