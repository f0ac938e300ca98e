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

// Writes a list of {image_id, category_id, bbox, score}.
void write_results(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections);

// Throws if `of` lacks an element's image or category, as for results of another data set. The
// error names the element.
std::vector<Detection> read_results(const std::string& path, const Annotations& of);

}  // namespace lockstep
