// SPDX-License-Identifier: Apache-2.0
// The objects that a detector trains on.
#pragma once

#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

struct TrainingBox {
  Corners corners{};  // within the image
  int64_t kind = 0;   // the class: the category's index + 1; 0 is background
  bool crowd = false;
  std::size_t object = 0;  // index in Annotations::objects
};

// Numbers of omitted objects, by reason.
struct LeftOut {
  int64_t ignored = 0;
  int64_t small = 0;  // area below the least area
  int64_t empty = 0;  // without area, or at most a pixel wide or high within the image

  LeftOut& operator+=(const LeftOut& other);
  std::string text() const;  // "3 ignored, 1 empty"; "" for none
};

// The boxes of an image, clipped to the image, in the order of objects. Counts omitted objects in
// `left_out`.
std::vector<TrainingBox> training_boxes(const Annotations& table, std::size_t image,
                                        double least_area, LeftOut& left_out);

// True if detectors train on an image with these boxes: crowds alone are nothing to learn from.
// `empty_too`: also on images without objects (TRAIN.EMPTY_IMAGES).
bool is_trained(const Annotations& table, std::size_t image, const std::vector<TrainingBox>& boxes,
                bool empty_too);

// The largest number of training boxes of an image, at least 1.
int64_t most_training_boxes(const Annotations& table, double least_area);

}  // namespace lockstep
