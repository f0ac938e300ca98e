// SPDX-License-Identifier: Apache-2.0
// Lists of boxes have a fixed length, and some slots are empty. In an empty slot the index of the
// row, anchor or class is -1, and the score for ranking is -infinity.
#pragma once

#include <string>

#include "lockstep/graph.h"

namespace lockstep {

// Indices [I, P] of boxes [I, P, 4]: 0 to P - 1, or -1 if the box has no area or if a side is NaN
// or 1e9 or more.
Value numbers_of_boxes(Graph& graph, Value boxes, const std::string& name);

Value score_of_empty_places(Graph& graph);
Value is_empty(Graph& graph, Value numbers, const Site& site);
// 1 for filled slots, 0 for empty slots, as floats.
Value present(Graph& graph, Value numbers, const Site& site);

// Replaces -1 by 0.
Value at_least_zero(Graph& graph, Value numbers, const Site& site);
// Gathers rows [I, K] of x [I, N, ..]: [I, K, ..]. An empty slot gets row 0.
Value rows_at(Graph& graph, Value x, Value rows, const Site& site);

}  // namespace lockstep
