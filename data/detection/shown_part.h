// SPDX-License-Identifier: Apache-2.0
// The part of a picture that a training step shows, and the picture's boxes and points in the
// coordinates of that part.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "data/coco/training_boxes.h"
#include "data/detection/jitter.h"

namespace lockstep {

using PicturePoint = std::array<double, 2>;  // x, y

class ShownPart {
 public:
  // The whole picture, perhaps mirrored; or a jittered picture's crop, cut from the mirrored
  // picture.
  ShownPart(const CocoImage& image, bool mirrored,
            const std::optional<PicturePlace>& crop = std::nullopt)
      : width_(static_cast<double>(image.width)), mirrored_(mirrored), crop_(crop) {}

  bool is_mirrored() const { return mirrored_; }

  // Clipped to a crop; without area if nothing is left.
  Corners box(const Corners& corners) const;
  // Without the boxes of which a crop leaves at most a pixel's width or height.
  std::vector<TrainingBox> boxes(std::vector<TrainingBox> all) const;
  // Not clipped. Coordinates are exact, 0 is the left edge of the first pixel: a mirrored picture
  // has the point at width - x.
  PicturePoint point(double x, double y) const;
  // True unless a crop has cut off the point, which has coordinates of this part.
  bool holds(const PicturePoint& point) const;

 private:
  double width_;
  bool mirrored_;
  std::optional<PicturePlace> crop_;  // nothing: the whole picture
};

}  // namespace lockstep
