// SPDX-License-Identifier: Apache-2.0
// The objects found in a picture as JSON, which `infer` writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/detection/find/found_boxes.h"

namespace lockstep {

// A list of {class, score, bbox}. A mask adds `segmentation`, points add `keypoints`, both as in
// COCO's files of results. `keypoint_score` is added if `confidence`, KRCNN.KEYPOINT_CONFIDENCE,
// gives points a score apart from the box's.
nlohmann::ordered_json json_of_objects(const FoundBoxes& boxes,
                                       const std::vector<CocoCategory>& categories,
                                       const std::string& confidence);

}  // namespace lockstep
