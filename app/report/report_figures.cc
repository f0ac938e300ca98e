// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_figures.h"

#include <algorithm>
#include <cmath>

#include "app/format.h"
#include "data/coco/masks.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMistakeSide = 250;  // shown side by side

const std::string& category_name(const Annotations& truth, int32_t category) {
  return truth.categories[category].name;
}

// Three numbers for each point: x, y and COCO's visibility.
template <class Number>
void add_points(DrawnBox& box, const CocoCategory& category, std::span<const Number> numbers) {
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    const Number visibility = numbers[i + 2];
    box.points.push_back({static_cast<float>(numbers[i]) + 0.5F,  // the middle of a pixel
                          static_cast<float>(numbers[i + 1]) + 0.5F,
                          visibility == 0   ? PointMark::none
                          : visibility == 1 ? PointMark::hollow
                                            : PointMark::filled});
  }
  box.limbs = limbs_of(category.keypoints);
}

DrawnBox object_box(const Annotations& truth, const CocoObject& object,
                    const ShownOptions& options) {
  const CocoCategory& category = truth.categories[object.category];
  DrawnBox box{.corners = corners_of(object.bbox),
               .label = object.crowd ? "crowd: " + category.name : category.name,
               .colour = static_cast<std::size_t>(object.category),
               .dashed = object.crowd};
  if (options.masks && (object.mask >= 0 || object.polygons.count > 0))
    box.mask = mask_of(truth, object);
  if (options.keypoints && object.keypoints.count > 0)
    add_points(box, category,
               std::span(truth.keypoints).subspan(object.keypoints.first, object.keypoints.count));
  return box;
}

DrawnBox detection_box(const Annotations& truth, const ShownDetections& found, std::size_t number,
                       bool classes) {
  const Detection& detection = found.boxes[number];
  const std::string score = fixed(detection.score, 2);
  if (!classes) return {corners_of(detection.bbox), score, 0};
  const CocoCategory& category = truth.categories[detection.category];
  DrawnBox box{.corners = corners_of(detection.bbox),
               .label = category.name + " " + score,
               .colour = static_cast<std::size_t>(detection.category)};
  if (!found.shapes.masks.empty()) box.mask = found.shapes.masks[number];
  if (!found.shapes.keypoints.empty() && !found.shapes.keypoints[number].empty()) {
    add_points(box, category, std::span(found.shapes.keypoints[number]));
    // Results mark each point as 1, seen or not.
    for (DrawnPoint& point : box.points) point.mark = PointMark::filled;
  }
  return box;
}

// The numbers of an image's best detections. The best comes last, to be drawn on top.
std::vector<std::size_t> best_of(const std::vector<Detection>& found, std::size_t image,
                                 const ShownOptions& options) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (static_cast<std::size_t>(found[i].image) == image && found[i].score >= options.least_score)
      best.push_back(i);
  std::stable_sort(best.begin(), best.end(),
                   [&](std::size_t a, std::size_t b) { return found[a].score > found[b].score; });
  if (best.size() > options.most) best.resize(options.most);
  std::reverse(best.begin(), best.end());
  return best;
}

std::string what_of(const CocoMistake& mistake, const Annotations& truth, const CocoObject* object,
                    const std::string& found) {
  const std::string meant = object == nullptr ? "" : category_name(truth, object->category);
  switch (mistake.kind) {
    case MistakeKind::background:
      return found + ", no object there";
    case MistakeKind::other_class:
      return found + ", is " + meant;
    case MistakeKind::badly_placed:
      return found + ", overlap " + fixed(mistake.overlap, 2);
    case MistakeKind::duplicate:
      return found + ", found already";
    case MistakeKind::missed:
      return join(meant, " missed, ", std::lround(object->bbox[2]), " x ",
                  std::lround(object->bbox[3]));
  }
  return "";
}

}  // namespace

ShownScene shown_scene(const Annotations& truth, std::size_t image, const ShownDetections& found,
                       const Image& picture, const ShownOptions& options) {
  DrawnPicture both{picture, {}};
  for (const CocoObject& object : truth.objects_of(image))
    both.boxes.push_back(object_box(truth, object, options));
  const auto objects = static_cast<std::ptrdiff_t>(both.boxes.size());
  for (const std::size_t number : best_of(found.boxes, image, options))
    both.boxes.push_back(detection_box(truth, found, number, options.classes));
  both = fitted(both, options.side);
  const auto middle = both.boxes.begin() + objects;
  return {std::move(both.image),
          {both.boxes.begin(), middle},
          {middle, both.boxes.end()},
          truth.images[image].file};
}

ShownMistake shown_mistake(const CocoMistake& mistake, const Annotations& truth,
                           const ShownDetections& found, const Image& picture,
                           const ShownOptions& options) {
  DrawnPicture both{picture, {}};
  const CocoObject* object = nullptr;
  const Detection* detection = nullptr;
  Corners around{};
  if (mistake.object >= 0) {
    object = &truth.objects[mistake.object];
    both.boxes.push_back(object_box(truth, *object, options));
    both.boxes.back().dashed = true;
    both.boxes.back().filled = false;  // the colour is the detection's
    around = both.boxes.back().corners;
  }
  if (mistake.detection >= 0) {
    const auto number = static_cast<std::size_t>(mistake.detection);
    detection = &found.boxes[number];
    both.boxes.push_back(detection_box(truth, found, number, options.classes));
    const Corners& corners = both.boxes.back().corners;
    for (std::size_t k = 0; k < 4; ++k)
      around[k] = object == nullptr ? corners[k]
                  : k < 2           ? std::min(around[k], corners[k])
                                    : std::max(around[k], corners[k]);
  }
  both = fitted(cut_out(both, around), std::min(options.side, kMistakeSide));
  const std::string name = detection == nullptr ? "" : category_name(truth, detection->category);
  return {std::move(both.image), std::move(both.boxes), what_of(mistake, truth, object, name),
          truth.images[mistake.image].file, detection == nullptr ? -1 : detection->score};
}

}  // namespace lockstep
