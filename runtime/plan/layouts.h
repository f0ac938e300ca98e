// SPDX-License-Identifier: Apache-2.0
// Tensor layouts. Convolutions run fastest on channel blocks. Kernels state their preference; this
// pass decides and inserts a Reorder where two users of a value disagree. A model's graph stays
// row-major. Pass 4 of compile().
#pragma once

#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

struct LaidOut {
  Graph graph;                  // with Reorder nodes
  std::vector<Layout> layouts;  // by value
  std::vector<Value> fetched;   // the request's fetches, row-major
  std::vector<Value> updated;   // new values of states, in the layouts of the states
};
// Chooses layouts for `bound` by the kernels of `compile`. If the request allows, filters that are
// read and updated only in tiles are stored in tiles.
LaidOut lay_out(const Graph& bound, const CompileRequest& compile);

}  // namespace lockstep
