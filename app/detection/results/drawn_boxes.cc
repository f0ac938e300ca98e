// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/drawn_boxes.h"

#include <algorithm>

#include "app/draw/boxes.h"
#include "app/format.h"
#include "data/coco/rle.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kDrawnSide = 640;  // smaller pictures are enlarged, so that names can be read

// Null for a proposal, and if the categories are not known.
const CocoCategory* category_of(const FoundBox& box, const std::vector<CocoCategory>& categories) {
  const bool known = box.kind > 0 && box.kind <= static_cast<int64_t>(categories.size());
  return known ? &categories[box.kind - 1] : nullptr;
}

DrawnBox drawn_box(const FoundBox& box, const std::vector<CocoCategory>& categories) {
  DrawnBox result{.corners = box.corners,
                  .label = join(name_of_kind(box, categories), " ", fixed(box.score, 2)),
                  .colour = static_cast<std::size_t>(std::max<int64_t>(1, box.kind) - 1),
                  .mask = box.mask};
  for (const FoundPoint& point : box.points)
    result.points.push_back({point.x + 0.5F, point.y + 0.5F});
  if (const CocoCategory* category = category_of(box, categories))
    result.limbs = limbs_of(category->keypoints);
  return result;
}

}  // namespace

std::string name_of_kind(const FoundBox& box, const std::vector<CocoCategory>& categories) {
  if (box.kind == 0) return "proposal";
  const CocoCategory* category = category_of(box, categories);
  return category ? category->name : join("class ", box.kind);
}

std::string found_text(const FoundBox& box, const std::vector<CocoCategory>& categories) {
  std::string text = join(printable(name_of_kind(box, categories)), " ", fixed(box.score, 2));
  std::string parts;
  if (box.mask.height > 0) parts = join("mask of ", count_of(area_of(box.mask), "pixel", "pixels"));
  if (!box.points.empty())
    parts += join(parts.empty() ? "" : ", ",
                  count_of(static_cast<int64_t>(box.points.size()), "keypoint", "keypoints"));
  return parts.empty() ? text : join(text, " (", parts, ")");
}

Image with_boxes(const Image& image, const FoundBoxes& boxes,
                 const std::vector<CocoCategory>& categories) {
  std::vector<DrawnBox> shown;
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box)  // draws the best box last, on top
    shown.push_back(drawn_box(*box, categories));
  return drawn(image, shown, times_within(image, kDrawnSide));
}

}  // namespace lockstep
