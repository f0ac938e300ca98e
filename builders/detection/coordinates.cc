// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/coordinates.h"

#include <vector>

#include "builders/detection/site.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

// The offsets (0, 0, 1, 1) that turn inclusive x1, y1, x2, y2 into a half-open box.
Value edge(Graph& graph) {
  if (const Value made = graph.find(graph.scoped("box_edge")); made && graph.literal(made))
    return made;
  return graph.constant("box_edge", Literal::of<float>(std::vector<float>{0, 0, 1, 1}, {4}));
}

// Turns height and width [I, 2] into (w - 1, h - 1, w, h) [I, 1, 4].
Value limits_of(Graph& graph, Value sizes, const Site& site) {
  const Value order = graph.constant(site.name + "_order", Literal::vector({1, 0, 1, 0}));
  const Value corners = gather(graph, sizes, order, 1, part_of(site, "_corners"));
  const Value first =
      graph.constant(site.name + "_first", Literal::of<float>(std::vector<float>{1, 1, 0, 0}, {4}));
  const Value limits = sub(graph, corners, first, part_of(site, "_flat"));
  return reshape(graph, limits, {0, 1, 4}, site);
}

}  // namespace

Value scale_of_images(Graph& graph, Value im_info, const Site& site) {
  const Value column = slice(graph, im_info, 1, 2, 3, part_of(site, "_scale"));
  return reshape(graph, column, {0, 1, 1}, part_of(site, "_scales"));
}

InputBoxes to_input(Graph& graph, PictureBoxes boxes, Value im_info, const Site& site) {
  const Value last = sub(graph, boxes.value, edge(graph), part_of(site, "_last"));
  const Value scaled =
      mul(graph, last, scale_of_images(graph, im_info, site), part_of(site, "_scaled"));
  return InputBoxes(add(graph, scaled, edge(graph), site));
}

PictureBoxes to_picture(Graph& graph, InputBoxes boxes, Value im_info, const Site& site) {
  const Value last = sub(graph, boxes.value, edge(graph), part_of(site, "_last"));
  const Value scaled =
      div(graph, last, scale_of_images(graph, im_info, site), part_of(site, "_scaled"));
  return PictureBoxes(add(graph, scaled, edge(graph), site));
}

Value with_last_pixels(Graph& graph, InputBoxes boxes, const Site& site) {
  return sub(graph, boxes.value, edge(graph), site);
}

Limits<InputBoxes> input_limits(Graph& graph, Value im_info, const Site& site) {
  return {limits_of(graph, slice(graph, im_info, 1, 0, 2, part_of(site, "_size")), site)};
}

Limits<PictureBoxes> picture_limits(Graph& graph, Value im_info, const Site& site) {
  const Value size = slice(graph, im_info, 1, 0, 2, part_of(site, "_scaled_size"));
  const Value scale = slice(graph, im_info, 1, 2, 3, part_of(site, "_scale"));
  // The input's size is rounded to whole pixels, so the quotient may not be whole.
  const Value exact = div(graph, size, scale, part_of(site, "_exact"));
  const Value whole = graph.add_value({.type = "Round", .inputs = {exact}}, part_of(site, "_size"));
  return {limits_of(graph, whole, site)};
}

Value clipped_to(Graph& graph, Value boxes, Value limits, const Site& site) {
  const Value above =
      graph.add_value({.type = "Max", .inputs = {boxes, edge(graph)}}, part_of(site, "_above"));
  return graph.add_value({.type = "Min", .inputs = {above, limits}}, site);
}

}  // namespace lockstep
