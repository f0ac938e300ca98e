// SPDX-License-Identifier: Apache-2.0
// Adds the outputs of a detector.
#pragma once

#include "models/detection/inputs.h"

namespace lockstep {

// Candidate boxes, [I, N, ..] (see detection_results).
struct Candidates {
  PictureBoxes boxes;
  Value scores, classes;
  double score_threshold = 0;
};
// Adds outputs boxes [I, D, 4], scores and classes [I, D], and count [I].
void output_detections(Net& net, const DetectorOptions& options, const Candidates& candidates,
                       const DetectorInputs& in);

}  // namespace lockstep
