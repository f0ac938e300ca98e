// SPDX-License-Identifier: Apache-2.0
// Mixed precision: converts a float32 graph to do most of its work on 16-bit floats. NarrowRule
// (op.h) says which operators take part. Cast nodes join values and users of different widths.
// Parameters stay float32 and are cast once a step.
#pragma once

#include <set>
#include <string>

#include "lockstep/graph.h"

namespace lockstep {

struct PrecisionOptions {
  DType narrow;                   // float16 or bfloat16
  std::set<std::string> known{};  // values that other code finds by name
};
// Graph outputs and `known` values keep name and type. Other values that become narrow keep their
// names; the cast of x is x/bfloat16.
Graph in_precision(const Graph& graph, const PrecisionOptions& options);

}  // namespace lockstep
