// Tensor layouts. Convolutions run fastest on channel blocks: kernels state their preference, this
// pass decides, and inserts a Reorder where two users of a value disagree. A model's graph stays
// row-major. Pass 4 of compile().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

struct LayoutRequest {
  const Graph& bound;
  const std::set<std::string>& row_major;  // values seen by others: fetches, new states
  const CompileRequest& compile;           // devices, and the kernels to ask
};

struct LaidOut {
  Graph graph;                     // with Reorder nodes
  std::vector<int> channel_block;  // by value, as in TensorDesc
};
LaidOut lay_out(const LayoutRequest& request);

}  // namespace lockstep
