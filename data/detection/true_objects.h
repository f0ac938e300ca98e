// SPDX-License-Identifier: Apache-2.0
// The objects of a picture as inputs of a training step: boxes, outlines and points
// (docs/detection.md lists the tensors).
#pragma once

#include <vector>

#include "data/coco/training_boxes.h"
#include "data/detection/shown_part.h"
#include "data/feed_row.h"

namespace lockstep {

// Slots for the objects of a picture.
struct TruthPlaces {
  int64_t boxes = 128;
  int64_t vertices = 0;   // of all outlines; 0: the network learns no masks
  int64_t keypoints = 0;  // of each object; 0: the network learns no keypoints
};

// gt_boxes, gt_classes and gt_crowd of `rows` pictures; also gt_vertices and gt_vertex_of if there
// are places for vertices, and gt_keypoints if there are places for keypoints.
MinibatchForm truth_form(int64_t rows, const TruthPlaces& places);

// Writes a row of these tensors. `boxes` are the picture's training_boxes(). Throws if there are
// not enough places. Crowd regions get neither vertices nor points, since no RoI learns from a
// crowd region.
void write_truth(const FeedRow& row, const TruthPlaces& places, const Annotations& table,
                 const std::vector<TrainingBox>& boxes, const ShownPart& part);

// The number of vertices that write_truth() writes for an image with these boxes.
int64_t vertices_of(const Annotations& table, const std::vector<TrainingBox>& boxes);
// The largest number of an image, at least 1.
int64_t most_vertices(const Annotations& table, double least_area);

}  // namespace lockstep
