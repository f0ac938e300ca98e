// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/found_json.h"

#include "app/detection/results/drawn_boxes.h"
#include "app/detection/shapes/keypoint_results.h"
#include "data/coco/rle.h"
#include "graph/listed.h"

namespace lockstep {

nlohmann::ordered_json json_of_objects(const FoundBoxes& boxes,
                                       const std::vector<CocoCategory>& categories,
                                       const std::string& confidence) {
  const FoundShapes shapes = shapes_of({boxes});
  const std::vector<Detection> of_points = detections_of_points({boxes}, confidence);
  const bool points_are_scored = row_named(keypoint_confidences(), confidence)->number != nullptr;
  nlohmann::ordered_json objects = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const FoundBox& box = boxes[i];
    const auto& [left, top, right, bottom] = box.corners;
    nlohmann::ordered_json object{{"class", name_of_kind(box, categories)},
                                  {"score", box.score},
                                  {"bbox", {left, top, right - left, bottom - top}}};
    if (box.mask.height > 0)
      object["segmentation"] = {{"size", {box.mask.height, box.mask.width}},
                                {"counts", encode_run_lengths(box.mask.counts)}};
    if (!box.points.empty()) {
      object["keypoints"] = shapes.keypoints[i];
      if (points_are_scored) object["keypoint_score"] = of_points[i].score;
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace lockstep
