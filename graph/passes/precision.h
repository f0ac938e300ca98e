// Mixed precision: a graph in float32 becomes one that does most of its work on 16-bit floats.
// Which operators do is said in their records (NarrowRule, op.h); between values of one width and
// users of the other stand Cast nodes. Parameters stay float32 and are cast once a step.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace lockstep {

struct PrecisionOptions {
  DType narrow;                   // float16 or bfloat16
  std::set<std::string> known{};  // to others by name
};
// Graph outputs and what is known by name keep name and type. Another value that is narrow now is
// called as before; what a cast makes of x is x/bfloat16.
Graph in_precision(const Graph& graph, const PrecisionOptions& options);

}  // namespace lockstep
