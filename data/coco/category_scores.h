// SPDX-License-Identifier: Apache-2.0
// COCO's matching of detections to objects, for boxes, masks and keypoints alike: from matrices of
// overlaps to precision and recall.
#pragma once

#include <span>
#include <vector>

#include "data/coco/scores.h"

namespace lockstep {

struct ScoredObject {
  double area = 0;
  bool crowd = false;    // takes any number of detections
  bool ignored = false;  // neither found nor missed
};
struct ScoredDetection {
  double score = 0, area = 0;
};

// The objects and detections of one category in one image.
struct ScoredGroup {
  std::size_t category = 0;
  std::vector<ScoredObject> objects;
  std::vector<ScoredDetection> detections;  // best first, no more than the largest limit
  std::vector<double> overlaps;             // detection by detection
};

// Writes the precision and recall of one category in one range of areas. Among detections with
// equal scores, the groups' order decides.
void score_category(CocoScores& scores, std::size_t category, std::size_t area,
                    std::span<const ScoredGroup* const> groups);

}  // namespace lockstep
