// SPDX-License-Identifier: Apache-2.0
// Precision against recall, as a chart.
#pragma once

#include <string>

#include "app/report/chart.h"
#include "data/coco/evaluation.h"

namespace lockstep {

// Curves at overlaps of 0.5, 0.75 and 0.9. A curve is the mean over all classes with objects.
// `measure` names the overlap, for example the similarity of keypoints.
Chart precision_chart(const CocoScores& scores, const std::string& title = "Precision",
                      const std::string& measure = "overlap");

}  // namespace lockstep
