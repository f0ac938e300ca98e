// SPDX-License-Identifier: Apache-2.0
// Coordinates of boxes [I, N, 4]: in the picture, or in the network's input, which is the picture
// scaled by im_info [I, 3] (height, width, scale). Each has a type, so that they do not mix. Boxes
// are half-open. Detectron's are not, and it scales the last pixel that belongs to a box; to_input
// and to_picture keep its numbers.
#pragma once

#include "graph/graph.h"

namespace lockstep {

struct PictureBoxes {
  PictureBoxes() = default;
  explicit PictureBoxes(Value boxes) : value(boxes) {}
  Value value;
};
struct InputBoxes {
  InputBoxes() = default;
  explicit InputBoxes(Value boxes) : value(boxes) {}
  Value value;
};

// [I, 1, 1], to multiply boxes by.
Value scale_of_images(Graph& graph, Value im_info, const Site& site);

InputBoxes to_input(Graph& graph, PictureBoxes boxes, Value im_info, const Site& site);
PictureBoxes to_picture(Graph& graph, InputBoxes boxes, Value im_info, const Site& site);

// Detectron's form: x2 and y2 are the last pixels of the box. Pooling reads boxes like that.
Value with_last_pixels(Graph& graph, InputBoxes boxes, const Site& site);

// The largest coordinates [I, 1, 4] of a box in an image of the input, and in its picture.
template <class Boxes>
struct Limits {
  Value value;
};
Limits<InputBoxes> input_limits(Graph& graph, Value im_info, const Site& site);
Limits<PictureBoxes> picture_limits(Graph& graph, Value im_info, const Site& site);

Value clipped_to(Graph& graph, Value boxes, Value limits, const Site& site);
// Cuts boxes to their image; at least one pixel remains.
template <class Boxes>
Boxes clip_boxes(Graph& graph, Boxes boxes, Limits<Boxes> limits, const Site& site) {
  return Boxes(clipped_to(graph, boxes.value, limits.value, site));
}

}  // namespace lockstep
