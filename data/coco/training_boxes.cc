// SPDX-License-Identifier: Apache-2.0
#include "data/coco/training_boxes.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

Corners corners_within(const CocoImage& image, const CocoBox& bbox) {
  const auto within = [](double at, int64_t size) {
    return static_cast<float>(std::clamp(at, 0.0, static_cast<double>(size)));
  };
  return {within(bbox[0], image.width), within(bbox[1], image.height),
          within(bbox[0] + bbox[2], image.width), within(bbox[1] + bbox[3], image.height)};
}

}  // namespace

LeftOut& LeftOut::operator+=(const LeftOut& other) {
  ignored += other.ignored;
  small += other.small;
  empty += other.empty;
  return *this;
}

std::string LeftOut::text() const {
  std::string text;
  for (const auto& [count, reason] :
       {std::pair{ignored, "ignored"}, {small, "too small"}, {empty, "empty"}})
    if (count > 0) text += join(text.empty() ? "" : ", ", count, " ", reason);
  return text;
}

std::vector<TrainingBox> training_boxes(const Annotations& table, std::size_t image,
                                        double least_area, LeftOut& left_out) {
  std::vector<TrainingBox> boxes;
  for (std::size_t i = table.first_object[image]; i < table.first_object[image + 1]; ++i) {
    const CocoObject& object = table.objects[i];
    const Corners corners = corners_within(table.images[image], object.bbox);
    if (object.area < least_area) {
      ++left_out.small;
    } else if (object.ignore) {
      ++left_out.ignored;
    } else if (!(object.area > 0 && corners[2] - corners[0] > 1 && corners[3] - corners[1] > 1)) {
      ++left_out.empty;
    } else {
      boxes.push_back({corners, object.category + int64_t{1}, object.crowd, i});
    }
  }
  return boxes;
}

bool is_trained(const Annotations& table, std::size_t image, const std::vector<TrainingBox>& boxes,
                bool empty_too) {
  return std::any_of(boxes.begin(), boxes.end(),
                     [](const TrainingBox& box) { return !box.crowd; }) ||
         (empty_too && table.objects_of(image).empty());
}

int64_t most_training_boxes(const Annotations& table, double least_area) {
  LeftOut left_out;
  std::size_t most = 1;
  for (std::size_t image = 0; image < table.images.size(); ++image)
    most = std::max(most, training_boxes(table, image, least_area, left_out).size());
  return static_cast<int64_t>(most);
}

}  // namespace lockstep
