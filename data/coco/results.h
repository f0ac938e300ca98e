// SPDX-License-Identifier: Apache-2.0
// Detections, and the file format that COCO's tools read.
#pragma once

#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

struct Detection {
  int32_t image = 0;     // index in Annotations::images
  int32_t category = 0;  // index in Annotations::categories
  CocoBox bbox{};
  double score = 0;
};

// Masks and keypoints of detections, by detection. A list is empty if the detections have none.
struct FoundShapes {
  std::vector<RunLengths> masks;              // of the picture's size
  std::vector<std::vector<float>> keypoints;  // x, y, visibility of each point
};

// The box around points, given as x, y, visibility of each.
CocoBox box_around(const std::vector<float>& points);

// Writes a list of {image_id, category_id, bbox, score}.
void write_results(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections);
// Writes a list of {image_id, category_id, segmentation, score}, one for each mask.
void write_masks(const std::string& path, const Annotations& of,
                 const std::vector<Detection>& detections, const std::vector<RunLengths>& masks);
// Writes a list of {image_id, category_id, keypoints, score} of the detections with keypoints.
void write_keypoints(const std::string& path, const Annotations& of,
                     const std::vector<Detection>& detections,
                     const std::vector<std::vector<float>>& keypoints);

// Reads a list of any of the three kinds. An element without a bbox gets the box around its mask or
// its points. Throws if `of` lacks an element's image or category, as for results of another data
// set, or if a mask or the points do not fit them. The error names the element.
std::vector<Detection> read_results(const std::string& path, const Annotations& of);
std::vector<Detection> read_results(const std::string& path, const Annotations& of,
                                    FoundShapes& shapes);

}  // namespace lockstep
