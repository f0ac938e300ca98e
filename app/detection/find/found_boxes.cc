// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/found_boxes.h"

#include <algorithm>
#include <cmath>

#include "data/coco/rle.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

bool has_mask(const FoundBox& box) { return box.mask.height > 0; }

std::vector<float> coco_keypoints(const FoundBox& box) {
  std::vector<float> numbers;
  for (const FoundPoint& point : box.points) numbers.insert(numbers.end(), {point.x, point.y, 1});
  return numbers;
}

template <class Has>
bool any_box(const std::vector<FoundBoxes>& pictures, const Has& has) {
  return std::any_of(pictures.begin(), pictures.end(), [&](const FoundBoxes& boxes) {
    return std::any_of(boxes.begin(), boxes.end(), has);
  });
}

}  // namespace

bool is_finite(const FoundBox& box) {
  const auto finite = [](float number) { return std::isfinite(number); };
  return finite(box.score) && std::all_of(box.corners.begin(), box.corners.end(), finite) &&
         std::all_of(box.points.begin(), box.points.end(), [&](const FoundPoint& point) {
           return finite(point.x) && finite(point.y) && finite(point.logit) &&
                  finite(point.probability);
         });
}

std::string text_of(const FoundBox& box) {
  const Corners& at = box.corners;
  std::string text =
      join(at[0], ", ", at[1], ", ", at[2], ", ", at[3], " with a score of ", box.score);
  if (has_mask(box)) text += join(", a mask of ", area_of(box.mask), " pixels");
  if (!box.points.empty()) text += join(", ", box.points.size(), " points");
  return text;
}

std::vector<Detection> detections_of(const std::vector<FoundBoxes>& pictures) {
  std::vector<Detection> detections;
  for (std::size_t picture = 0; picture < pictures.size(); ++picture)
    for (const FoundBox& box : pictures[picture])
      detections.push_back({static_cast<int32_t>(picture),
                            static_cast<int32_t>(std::max<int64_t>(0, box.kind - 1)),
                            coco_box_of(box.corners), box.score});
  return detections;
}

FoundShapes shapes_of(const std::vector<FoundBoxes>& pictures) {
  const bool masks = any_box(pictures, [](const FoundBox& box) { return has_mask(box); });
  const bool points = any_box(pictures, [](const FoundBox& box) { return !box.points.empty(); });
  FoundShapes shapes;
  for (const FoundBoxes& boxes : pictures)
    for (const FoundBox& box : boxes) {
      if (masks) shapes.masks.push_back(box.mask);
      if (points) shapes.keypoints.push_back(coco_keypoints(box));
    }
  return shapes;
}

}  // namespace lockstep
