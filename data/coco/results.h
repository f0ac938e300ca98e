// SPDX-License-Identifier: Apache-2.0
// Detections, and the file that COCO's tools take them in.
#pragma once

#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

struct Detection {
  int32_t image = 0;     // place in Annotations::images
  int32_t category = 0;  // place in Annotations::categories
  CocoBox bbox{};
  double score = 0;
};

// A list of {image_id, category_id, bbox, score}.
void write_results(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections);

// Throws naming the element if it is of no image or category of `of`: results of another data set.
std::vector<Detection> read_results(const std::string& path, const Annotations& of);

}  // namespace lockstep
