// SPDX-License-Identifier: Apache-2.0
// Lists of boxes have a fixed number of places, and some are empty: the number there, of a row, an
// anchor or a class, is -1. Its score is -infinity where boxes are ranked.
#pragma once

#include <string>

#include "graph/graph.h"

namespace lockstep {

// Numbers [I, P] of boxes [I, P, 4]: of each place its own, -1 where the box has no area, or sides
// that are no numbers.
Value numbers_of_boxes(Graph& graph, Value boxes, const std::string& name);

Value score_of_empty_places(Graph& graph);
Value is_empty(Graph& graph, Value numbers, const Site& site);
// Filled places, as floats.
Value present(Graph& graph, Value numbers, const Site& site);

// -1 becomes 0.
Value at_least_zero(Graph& graph, Value numbers, const Site& site);
// x [I, N, ..] at rows [I, K] -> [I, K, ..]; an empty place gets row 0.
Value rows_at(Graph& graph, Value x, Value rows, const Site& site);

}  // namespace lockstep
