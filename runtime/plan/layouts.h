// SPDX-License-Identifier: Apache-2.0
// Tensor layouts. Convolutions run fastest on channel blocks: kernels state their preference, this
// pass decides, and inserts a Reorder where two users of a value disagree. A model's graph stays
// row-major. Pass 4 of compile().
#pragma once

#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

struct LaidOut {
  Graph graph;                  // with Reorder nodes
  std::vector<Layout> layouts;  // by value
  std::vector<Value> fetched;   // what the request fetches: row-major
  std::vector<Value> updated;   // new states, in the layouts of the states
};
// Asks the kernels of `compile` for the nodes of `bound`. If the request lets it choose, filters
// that are read and updated in tiles alone are held in tiles.
LaidOut lay_out(const Graph& bound, const CompileRequest& compile);

}  // namespace lockstep
