// SPDX-License-Identifier: Apache-2.0
// Adds the outputs of a detector.
#pragma once

#include <optional>

#include "models/detection/inputs.h"
#include "operators/boxes/boxes.h"

namespace lockstep {

// Candidate boxes, [I, N, ..] (see detection_results).
struct Candidates {
  PictureBoxes boxes;
  Value scores, classes;
  double score_threshold = 0;
};
// Adds outputs boxes [I, D, 4], scores and classes [I, D], and count [I]. With
// options.test.all_candidates, adds boxes [I, N, 4], scores [I, N] and, if candidates have them,
// classes [I, N], and returns nothing.
std::optional<Detections> output_detections(Net& net, const DetectorOptions& options,
                                            const Candidates& candidates, const DetectorInputs& in);

// How results are chosen among candidates with scores above `score_threshold`.
RefinedAttrs result_rules(const DetectorOptions& options, double score_threshold);

}  // namespace lockstep
