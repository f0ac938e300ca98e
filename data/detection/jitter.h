// SPDX-License-Identifier: Apache-2.0
// Large-scale jitter: scales a picture by a random factor, then crops or pads it to a fixed size.
#pragma once

#include <vector>

#include "data/coco/training_boxes.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/picture.h"
#include "lockstep/random.h"

namespace lockstep {

struct JitterOptions {
  PictureSize size = {};         // of the result; 0 x 0: no jitter
  double least = 0.1, most = 2;  // the picture is scaled to this times `size`, drawn evenly

  bool on() const { return size.area() > 0; }
};

// A picture's scale, and the part of the scaled picture that is used.
struct PicturePlace {
  PictureScale scale;
  PictureCrop crop;

  // The whole picture.
  explicit PicturePlace(const PictureScale& scale)
      : scale(scale), crop{0, 0, scale.height, scale.width} {}
};

// Takes three draws from `random`. The ratio of the sides stays.
PicturePlace jittered(const CocoImage& image, const JitterOptions& options, PhiloxSequence& random);

// The box in coordinates of the picture cut to the place's part; without area if nothing is left.
Corners cut(const Corners& box, const PicturePlace& place);

// Drops boxes at most a pixel wide or high, as training_boxes() does.
void drop_narrow(std::vector<TrainingBox>& boxes);

}  // namespace lockstep
