// Which tensors lie in channel blocks. Convolutions run fastest on them; a kernel says what it
// wishes, this pass decides, and where two users of a value disagree it writes a Reorder between
// them. Layouts are the plan's business: a model's graph stays row-major. Pass 4 of compile().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/plan/compile.h"

namespace lockstep {

struct LayoutRequest {
  const Graph& bound;
  const std::set<std::string>& row_major;  // values that others see: fetches, new states
  const CompileRequest& compile;           // devices, and the kernels that are asked
};

struct LaidOut {
  Graph graph;                     // with Reorder nodes
  std::vector<int> channel_block;  // by value, as in TensorDesc
};
LaidOut lay_out(const LayoutRequest& request);

}  // namespace lockstep
