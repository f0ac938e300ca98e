// SPDX-License-Identifier: Apache-2.0
// Builds detectors from options as in Detectron's YAML files.
#pragma once

#include "lockstep/net.h"
#include "models/detection/options.h"

namespace lockstep {

// A detector of boxes, and of their masks and keypoints. Throws for options that are wrong or that
// this version does not support. The error names the key.
ModelFn detector(const DetectorOptions& options);

// Checks options without building: throws as detector() does.
void check_detector(const DetectorOptions& options);

// True if the detector has a second stage, which classifies RoIs.
bool has_box_head(const DetectorOptions& options);
// True if the second stage also predicts masks, or points.
bool has_mask_head(const DetectorOptions& options);
bool has_keypoint_head(const DetectorOptions& options);

}  // namespace lockstep
