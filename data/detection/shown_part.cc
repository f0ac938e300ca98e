// SPDX-License-Identifier: Apache-2.0
#include "data/detection/shown_part.h"

namespace lockstep {

Corners ShownPart::box(const Corners& corners) const {
  const Corners turned = mirrored_ ? mirrored(corners, static_cast<float>(width_)) : corners;
  return crop_ ? cut(turned, *crop_) : turned;
}

std::vector<TrainingBox> ShownPart::boxes(std::vector<TrainingBox> all) const {
  for (TrainingBox& each : all) each.corners = box(each.corners);
  if (crop_) drop_narrow(all);
  return all;
}

PicturePoint ShownPart::point(double x, double y) const {
  if (mirrored_) x = width_ - x;
  if (!crop_) return {x, y};
  const double scale = crop_->scale.scale;
  return {x - static_cast<double>(crop_->crop.left) / scale,
          y - static_cast<double>(crop_->crop.top) / scale};
}

bool ShownPart::holds(const PicturePoint& point) const {
  if (!crop_) return true;
  const double scale = crop_->scale.scale;
  return point[0] >= 0 && point[0] <= static_cast<double>(crop_->crop.width) / scale &&
         point[1] >= 0 && point[1] <= static_cast<double>(crop_->crop.height) / scale;
}

}  // namespace lockstep
