// SPDX-License-Identifier: Apache-2.0
// Selection among boxes. A box is [x1, y1, x2, y2], half-open: its width is x2 - x1.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

struct BoxSuppressionAttrs {
  float threshold = 0.7F;  // a box is dropped if its IoU with a better kept box is larger
  int64_t capacity = 1000;
};
struct SuppressedBoxes {
  Value indices;  // [B, capacity] of int64, best first; -1 in an empty slot
  Value count;    // [B] of int64
};
// boxes [B, N, 4], scores [B, N]. Equal scores keep their order. A score of -infinity or NaN marks
// an empty slot.
SuppressedBoxes box_suppression(Graph& graph, Value boxes, Value scores,
                                const BoxSuppressionAttrs& attrs, const Site& site = {});

struct DetectionAttrs {
  int64_t classes = 81;           // includes the background, class 0
  float score_threshold = 0.05F;  // results have larger scores
  float overlap = 0.5F;           // suppression within a class, as in BoxSuppression
  int64_t capacity = 100;         // results of an image
};
struct Detections {
  Value boxes;    // [I, capacity, 4], best first; zeros in empty slots
  Value scores;   // [I, capacity]
  Value classes;  // [I, capacity] of int64; 0 in empty slots
  Value count;    // [I] of int64
};
// boxes [I, N, 4], scores [I, N], classes [I, N] of int64. Without `classes`, the class of
// candidate j is j mod attrs.classes. The background is never a result. Equal scores are ordered by
// class, then by candidate.
Detections detection_results(Graph& graph, Value boxes, Value scores, Value classes,
                             const DetectionAttrs& attrs, const Site& site = {});

// Detections of soft suppression and of box voting. With method "hard" and without a vote they
// equal the results of detection_results().
struct RefinedAttrs : DetectionAttrs {
  // A better box of the class lowers the scores of the boxes that it overlaps: hard (drops them if
  // their IoU is larger than `overlap`), linear or gaussian.
  std::string method = "hard";
  float sigma = 0.5F;  // gaussian
  // The score of a result after voting: ID, TEMP_AVG, .. (refining.h). Its box becomes the mean of
  // the candidates of its class with an IoU of at least `vote_overlap`. "": no voting.
  std::string vote;
  float vote_overlap = 0.8F;
  float vote_beta = 1;  // of some scorings
};
Detections refined_detections(Graph& graph, Value boxes, Value scores, Value classes,
                              const RefinedAttrs& attrs, const Site& site = {});

std::vector<Op> boxes_ops();
std::vector<KernelEntry> boxes_cpu();

}  // namespace lockstep
