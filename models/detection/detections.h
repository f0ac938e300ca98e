// SPDX-License-Identifier: Apache-2.0
// The results of a detector.
#pragma once

#include "models/detection/inputs.h"

namespace lockstep {

// [I, N, ..] (see detection_results).
struct Candidates {
  PictureBoxes boxes;
  Value scores, classes;
  double score_threshold = 0;
};
// The outputs boxes [I, D, 4], scores, classes [I, D] and count [I].
void output_detections(Net& net, const DetectorOptions& options, const Candidates& candidates,
                       const DetectorInputs& in);

}  // namespace lockstep
