// SPDX-License-Identifier: Apache-2.0
// Coordinates of boxes [I, N, 4]: in the picture, or in the network's input, which is the picture
// scaled by im_info [I, 3] (height, width, scale). Each has its own type, so that the two cannot be
// confused. Boxes are half-open. Detectron's boxes are inclusive, and Detectron scales the last
// pixel of a box. to_input and to_picture give the same numbers as Detectron.
#pragma once

#include "lockstep/graph.h"

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

// The scale of each image, [I, 1, 1], as a factor for boxes.
Value scale_of_images(Graph& graph, Value im_info, const Site& site);

InputBoxes to_input(Graph& graph, PictureBoxes boxes, Value im_info, const Site& site);
PictureBoxes to_picture(Graph& graph, InputBoxes boxes, Value im_info, const Site& site);

// Detectron's inclusive form: x2 and y2 are the last pixels of the box. Pooling reads this form.
Value with_last_pixels(Graph& graph, InputBoxes boxes, const Site& site);

// The largest coordinates [I, 1, 4] of a box: in an image of the input, or in its picture.
template <class Boxes>
struct Limits {
  Value value;
};
Limits<InputBoxes> input_limits(Graph& graph, Value im_info, const Site& site);
Limits<PictureBoxes> picture_limits(Graph& graph, Value im_info, const Site& site);

Value clipped_to(Graph& graph, Value boxes, Value limits, const Site& site);
// Clips boxes to their image. At least one pixel remains.
template <class Boxes>
Boxes clip_boxes(Graph& graph, Boxes boxes, Limits<Boxes> limits, const Site& site) {
  return Boxes(clipped_to(graph, boxes.value, limits.value, site));
}

}  // namespace lockstep
