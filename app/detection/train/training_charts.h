// SPDX-License-Identifier: Apache-2.0
// The curves of a detector's training in report.html.
#pragma once

#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/report/report.h"

namespace lockstep {

// Losses of all heads, and the scores of the tests during training by kind: boxes, masks,
// keypoints. Curves beyond four differ in their dashes, too.
std::vector<CurveChart> training_charts(const DetectorConfig& config);

}  // namespace lockstep
