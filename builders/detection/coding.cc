// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/coding.h"

#include <optional>

#include "builders/detection/empty_places.h"
#include "builders/detection/site.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value pair(Graph& graph, const Site& site, const char* ending, double a, double b) {
  const std::vector<float> values{static_cast<float>(a), static_cast<float>(b)};
  return graph.constant(site.name + ending, Literal::of<float>(values, {2}));
}

// h w of a map [I, channels, h, w], or nothing if its size is open.
std::optional<int64_t> cells_of(const Graph& graph, Value map) {
  const Shape& shape = graph.shape(map);
  check(shape.size() == 4, "'", graph.name(map), "' has shape ", shape, ", should be a map");
  if (!shape[2].known() || !shape[3].known()) return std::nullopt;
  return shape[2].size() * shape[3].size();
}

// A dimension of a map as a scalar.
Value size_along(Graph& graph, Value map, int64_t axis, const Site& site) {
  const Value sizes = graph.add_value({.type = "Shape", .inputs = {map}}, part_of(site, "_sizes"));
  return gather(graph, sizes, shared_integer(graph, axis), 0, site);
}

Value halves(Graph& graph, Value boxes, int64_t first, const Site& site) {
  return slice(graph, boxes, -1, first, first + 2, site);
}

}  // namespace

Value box_sides(Graph& graph, Value boxes, const Site& site) {
  return sub(graph, halves(graph, boxes, 2, part_of(site, "_high")),
             halves(graph, boxes, 0, part_of(site, "_low")), site);
}

Value decode_boxes(Graph& graph, Value boxes, Value deltas, const BoxCoding& coding,
                   const Site& site) {
  const auto named = [&](const char* ending) { return part_of(site, ending); };
  const std::vector<double>& w = coding.weights;
  const Value low = halves(graph, boxes, 0, named("_low"));
  const Value size =
      sub(graph, halves(graph, boxes, 2, named("_high")), low, named("_anchor_size"));
  const Value half = shared_number(graph, 0.5);
  const Value centre =
      add(graph, low, mul(graph, size, half, named("_half_size")), named("_anchor_centre"));
  Value shift = halves(graph, deltas, 0, named("_shift"));
  Value growth = halves(graph, deltas, 2, named("_growth"));
  if (w[0] != 1 || w[1] != 1)
    shift = div(graph, shift, pair(graph, site, "_shift_weights", w[0], w[1]), named("_dxy"));
  if (w[2] != 1 || w[3] != 1)
    growth = div(graph, growth, pair(graph, site, "_growth_weights", w[2], w[3]), named("_dwh"));
  growth =
      graph.add_value({.type = "Min", .inputs = {growth, shared_number(graph, coding.log_limit)}},
                      named("_limited"));
  const Value factor = graph.add_value({.type = "Exp", .inputs = {growth}}, named("_factor"));
  const Value reach = mul(graph, mul(graph, factor, size, named("_size")), half, named("_reach"));
  const Value middle =
      add(graph, mul(graph, shift, size, named("_moved")), centre, named("_centre"));
  return concat(
      graph,
      {sub(graph, middle, reach, named("_first")), add(graph, middle, reach, named("_last"))}, -1,
      site);
}

Value at_places(Graph& graph, Value map, Value places, int64_t width, const Site& site) {
  const auto named = [&](const char* ending) { return part_of(site, ending); };
  const Value flat = flatten(graph, map, 1, named("_flat"));
  Value index = at_least_zero(graph, places, named("_places"));
  if (width > 1) {
    // Maps (anchor, y, x) to (anchor, k, y, x): index + anchor * (width - 1) * cells + k * cells.
    const std::optional<int64_t> known = cells_of(graph, map);
    const Value cells = known ? shared_integer(graph, *known) : map_size(graph, map, site).cells;
    const auto times_cells = [&](Value number, const char* ending) {
      return mul(graph, number, cells, named(ending));
    };
    const Value anchor = div(graph, index, cells, named("_anchor"));
    const Value others = shared_integer(graph, known.value_or(1) * (width - 1));
    const Value skipped =
        mul(graph, anchor, known ? others : times_cells(others, "_others"), named("_skipped"));
    index =
        reshape(graph, add(graph, index, skipped, named("_first")), {0, 0, 1}, named("_column"));
    std::vector<int64_t> numbers;
    for (int64_t k = 0; k < width; ++k) numbers.push_back(k * known.value_or(1));
    const Value steps = graph.constant(site.name + "_steps", Literal::vector(numbers));
    index = add(graph, index, known ? steps : times_cells(steps, "_stride"), named("_each"));
    index = flatten(graph, index, 1, named("_index"));
  }
  const Value found = gather_elements(graph, flat, index, 1, width > 1 ? named("_found") : site);
  if (width == 1) return found;
  const Dim rows = graph.shape(places)[1];
  return reshape(graph, found, {0, rows.known() ? rows.size() : -1, width}, site);
}

MapSize map_size(Graph& graph, Value map, const Site& site) {
  if (const auto cells = cells_of(graph, map))
    return {shared_integer(graph, *cells), shared_integer(graph, graph.shape(map)[3].size())};
  const Value width = size_along(graph, map, 3, part_of(site, "_columns"));
  const Value height = size_along(graph, map, 2, part_of(site, "_rows"));
  return {mul(graph, height, width, part_of(site, "_cells")), width};
}

Value anchors_at(Graph& graph, const AnchorLevel& level, Value map, Value places,
                 const Site& site) {
  const auto named = [&](const char* ending) { return part_of(site, ending); };
  const auto [cells, width] = map_size(graph, map, site);
  const Value place = at_least_zero(graph, places, named("_place"));
  const Value anchor = div(graph, place, cells, named("_number"));
  const Value cell = sub(graph, place, mul(graph, anchor, cells, named("_before")), named("_cell"));
  const Value y = div(graph, cell, width, named("_y"));
  const Value x = sub(graph, cell, mul(graph, y, width, named("_row")), named("_x"));
  const Value xs = reshape(graph, x, {0, 0, 1}, named("_xs"));
  const Value ys = reshape(graph, y, {0, 0, 1}, named("_ys"));
  const Value corner = cast(graph, concat(graph, {xs, ys, xs, ys}, 2, named("_corner")),
                            DType::float32, named("_corners"));
  const Value moved =
      mul(graph, corner, shared_number(graph, static_cast<double>(level.stride)), named("_moved"));
  const Value base = graph.constant(
      site.name + "_base",
      Literal::of<float>(level.anchors, {static_cast<int64_t>(level.anchors.size()) / 4, 4}));
  return add(graph, gather(graph, base, anchor, 0, named("_of_cell")), moved, site);
}

}  // namespace lockstep
