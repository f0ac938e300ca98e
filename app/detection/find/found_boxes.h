// SPDX-License-Identifier: Apache-2.0
// The objects that a detector found in pictures: boxes, and the masks and points inside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/coco/results.h"
#include "lockstep/processes.h"

namespace lockstep {

struct FoundPoint {
  float x = 0, y = 0;                // in the picture, as annotations have coordinates
  float logit = 0, probability = 0;  // of the best cell of the point's heatmap
  friend bool operator==(const FoundPoint&, const FoundPoint&) = default;
};

struct FoundBox {
  Corners corners{};  // in the picture
  float score = 0;
  int64_t kind = 0;      // the class, from 1 on; 0 for a proposal
  RunLengths mask = {};  // of the picture's size; 0 x 0 without a mask head
  // Empty without a keypoint head, and for a class whose objects have no points.
  std::vector<FoundPoint> points = {};
  friend bool operator==(const FoundBox&, const FoundBox&) = default;
};
using FoundBoxes = std::vector<FoundBox>;  // of one picture, best first

// True if the box, its score and its points are finite.
bool is_finite(const FoundBox& box);
// "1, 2, 3, 4 with a score of 0.5, a mask of 5 pixels, 3 points"
std::string text_of(const FoundBox& box);

// Detections in the order of the pictures. Proposals get category 0, which their scoring ignores.
std::vector<Detection> detections_of(const std::vector<FoundBoxes>& pictures);
// Their masks and points, in the same order. A point's visibility is 1. The list of masks is empty
// if no box has a mask, the list of points if no box has points.
FoundShapes shapes_of(const std::vector<FoundBoxes>& pictures);

// Gathers all ranks' boxes on rank 0, with masks and points; other ranks get nothing. Rank r of n
// has the pictures r, r + n, r + 2 n, .. of `pictures`.
std::vector<FoundBoxes> gather_boxes(Comm& comm, const std::vector<FoundBoxes>& mine,
                                     std::size_t pictures);

}  // namespace lockstep
