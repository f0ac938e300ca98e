// SPDX-License-Identifier: Apache-2.0
// Decodes boxes from deltas to anchors or proposals, and looks up anchors in the output of a head.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "operators/targets/targets.h"

namespace lockstep {

struct BoxCoding {
  std::vector<double> weights = {1, 1, 1, 1};  // of dx, dy, dw, dh
  double log_limit = 4.135166556742356;        // of dw and dh: ln(1000 / 16)
};
// Decodes deltas [.., 4] relative to boxes [.., 4], which broadcast to each other, to boxes [..,
// 4].
Value decode_boxes(Graph& graph, Value boxes, Value deltas, const BoxCoding& coding,
                   const Site& site);

// Width and height [.., 2] of boxes [.., 4].
Value box_sides(Graph& graph, Value boxes, const Site& site);

// Indices into a head's output: each of places [I, S] is the flat index of (anchor, y, x). Reads
// the `width` numbers at each place from a map [I, A * width, h, w]: [I, S, width].
Value at_places(Graph& graph, Value map, Value places, int64_t width, const Site& site);
// The anchors at places: [I, S, 4]. `map` has a cell for each cell of the level.
Value anchors_at(Graph& graph, const AnchorLevel& level, Value map, Value places, const Site& site);

// The numbers of cells, h w, and of columns, w, of a map [I, channels, h, w]: constants, or
// computed from the map's shape if its size is open.
struct MapSize {
  Value cells, width;
};
MapSize map_size(Graph& graph, Value map, const Site& site);

}  // namespace lockstep
