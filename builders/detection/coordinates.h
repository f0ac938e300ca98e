// SPDX-License-Identifier: Apache-2.0
// Coordinates of boxes [I, N, 4]: those of the picture, and those of the network's input, which is
// the picture scaled by im_info [I, 3] (height, width, scale). Boxes are half-open. Detectron's are
// not, and it scales the last pixel that belongs to a box; to_input and to_picture keep its
// numbers.
#pragma once

#include "graph/graph.h"

namespace lockstep {

// [I, 1, 1], to multiply boxes by.
Value scale_of_images(Graph& graph, Value im_info, const Site& site);

Value to_input(Graph& graph, Value boxes, Value im_info, const Site& site);
Value to_picture(Graph& graph, Value boxes, Value im_info, const Site& site);

// Detectron's form: x2 and y2 are the last pixels of the box. Pooling reads boxes like that.
Value with_last_pixels(Graph& graph, Value boxes, const Site& site);

// The largest coordinates [I, 1, 4] of a box in an image of the input, and in its picture.
Value input_limits(Graph& graph, Value im_info, const Site& site);
Value picture_limits(Graph& graph, Value im_info, const Site& site);
// Cuts boxes to their image; at least one pixel remains.
Value clip_boxes(Graph& graph, Value boxes, Value limits, const Site& site);

}  // namespace lockstep
