// SPDX-License-Identifier: Apache-2.0
// Results with points: their scores, and suppression by the similarity of points.
#pragma once

#include <string>
#include <vector>

#include "app/detection/find/found_boxes.h"

namespace lockstep {

// The source of a score, by its name in KRCNN.KEYPOINT_CONFIDENCE.
struct KeypointConfidence {
  const char* name;
  float FoundPoint::*number;  // the score is the mean over the points; null: the box's score
};
const std::vector<KeypointConfidence>& keypoint_confidences();

// detections_of() with the scores of points. A box without points keeps its score.
std::vector<Detection> detections_of_points(const std::vector<FoundBoxes>& pictures,
                                            const std::string& confidence);

// KRCNN.NMS_OKS: removes boxes of a picture whose points are similar to the points of another box
// of the class with larger logits, as Detectron does: COCO's similarity is above 0.3. Boxes without
// points stay. `sigmas` has a number for each point.
void suppress_similar(FoundBoxes& boxes, const std::vector<double>& sigmas);

}  // namespace lockstep
