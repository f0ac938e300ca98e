// SPDX-License-Identifier: Apache-2.0
// The objects that a detector trains on.
#pragma once

#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

struct TrainingBox {
  Corners corners{};  // within the image
  int64_t kind = 0;   // the class: the category's place, plus 1; 0 is the background
  bool crowd = false;
  std::size_t object = 0;  // place in Annotations::objects
};

// Objects left out, by reason.
struct LeftOut {
  int64_t ignored = 0;
  int64_t small = 0;  // below the least area
  int64_t empty = 0;  // without area, or not more than a pixel of width and height in the image

  LeftOut& operator+=(const LeftOut& other);
  std::string text() const;  // "3 ignored, 1 empty"; "" for none
};

// Boxes are cut to the image, in the order of its objects. Counts the others in `left_out`.
std::vector<TrainingBox> training_boxes(const Annotations& table, std::size_t image,
                                        double least_area, LeftOut& left_out);

// Of the image that has most; at least 1.
int64_t most_training_boxes(const Annotations& table, double least_area);

}  // namespace lockstep
