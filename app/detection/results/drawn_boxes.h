// SPDX-License-Identifier: Apache-2.0
// Pictures with the boxes that a detector found, their names and scores, masks and keypoints.
#pragma once

#include <string>
#include <vector>

#include "app/detection/find/found_boxes.h"
#include "data/image.h"

namespace lockstep {

// The name of a box's class: of `categories`, "class 7", or "proposal".
std::string name_of_kind(const FoundBox& box, const std::vector<CocoCategory>& categories);

// "arrow 0.98 (mask of 312 pixels, 5 keypoints)"
std::string found_text(const FoundBox& box, const std::vector<CocoCategory>& categories);

// `boxes` are best first. The names of keypoints in `categories` decide which points are joined.
Image with_boxes(const Image& image, const FoundBoxes& boxes,
                 const std::vector<CocoCategory>& categories);

}  // namespace lockstep
