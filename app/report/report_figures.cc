// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_figures.h"

#include <algorithm>
#include <cmath>

#include "app/format.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMistakeSide = 250;  // shown side by side

const std::string& category_name(const Annotations& truth, int32_t category) {
  return truth.categories[category].name;
}

DrawnBox object_box(const Annotations& truth, const CocoObject& object) {
  const std::string& name = category_name(truth, object.category);
  return {corners_of(object.bbox), object.crowd ? "crowd: " + name : name,
          static_cast<std::size_t>(object.category), object.crowd};
}

DrawnBox detection_box(const Annotations& truth, const Detection& detection, bool classes) {
  const std::string score = fixed(detection.score, 2);
  if (!classes) return {corners_of(detection.bbox), score, 0};
  return {corners_of(detection.bbox), category_name(truth, detection.category) + " " + score,
          static_cast<std::size_t>(detection.category)};
}

// The best detections of an image. The best comes last, to be drawn on top.
std::vector<Detection> best_of(const std::vector<Detection>& found, std::size_t image,
                               const ShownOptions& options) {
  std::vector<Detection> best;
  for (const Detection& detection : found)
    if (static_cast<std::size_t>(detection.image) == image &&
        detection.score >= options.least_score)
      best.push_back(detection);
  std::stable_sort(best.begin(), best.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
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

ShownScene shown_scene(const Annotations& truth, std::size_t image,
                       const std::vector<Detection>& found, const Image& picture,
                       const ShownOptions& options) {
  DrawnPicture both{picture, {}};
  for (const CocoObject& object : truth.objects_of(image))
    both.boxes.push_back(object_box(truth, object));
  const auto objects = static_cast<std::ptrdiff_t>(both.boxes.size());
  for (const Detection& detection : best_of(found, image, options))
    both.boxes.push_back(detection_box(truth, detection, options.classes));
  both = fitted(both, options.side);
  const auto middle = both.boxes.begin() + objects;
  return {std::move(both.image),
          {both.boxes.begin(), middle},
          {middle, both.boxes.end()},
          truth.images[image].file};
}

ShownMistake shown_mistake(const CocoMistake& mistake, const Annotations& truth,
                           const std::vector<Detection>& found, const Image& picture,
                           const ShownOptions& options) {
  DrawnPicture both{picture, {}};
  const CocoObject* object = nullptr;
  const Detection* detection = nullptr;
  Corners around{};
  if (mistake.object >= 0) {
    object = &truth.objects[mistake.object];
    both.boxes.push_back(object_box(truth, *object));
    both.boxes.back().dashed = true;
    around = both.boxes.back().corners;
  }
  if (mistake.detection >= 0) {
    detection = &found[mistake.detection];
    both.boxes.push_back(detection_box(truth, *detection, options.classes));
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
