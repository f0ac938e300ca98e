// SPDX-License-Identifier: Apache-2.0
// Scores boxes by Pascal VOC's average precision, as Detectron does.
#pragma once

#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/results.h"

namespace lockstep {

// Average precision at an overlap of 0.5, by category. -1: no object counts.
struct VocScores {
  std::vector<double> eleven_points;  // VOC2007: the mean of 11 points of the curve
  std::vector<double> area;           // VOC2010 and later: the area below the curve

  // The mean over the categories with objects; -1 for none.
  static double mean(const std::vector<double>& precisions);
};

// A detection, best score first, finds the object of its class that overlaps most, if the overlap
// is above 0.5 and no detection before has found that object. Difficult objects (`ignore`) and
// crowds count neither as objects nor as mistakes. Equal scores keep their order. The result does
// not depend on `threads`.
VocScores evaluate_voc(const Annotations& truth, const std::vector<Detection>& detections,
                       int threads = 1);

}  // namespace lockstep
