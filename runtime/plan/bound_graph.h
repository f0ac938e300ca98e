// SPDX-License-Identifier: Apache-2.0
// A step's graph before it becomes a plan: bound to the shapes of a batch, rewritten for its
// devices, with layouts, in execution order. Passes 1 to 5 of compile().
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/cached_values.h"
#include "runtime/plan/compile.h"

namespace lockstep {

struct BoundGraph {
  Graph graph;
  std::vector<Layout> layouts;    // by value
  std::vector<Value> fetched;     // the request's fetches, row-major
  std::vector<Binding> updates;   // of the request; fewer if replicas share states
  std::vector<Value> updated;     // the new values of `updates`, in the layouts of the states
  std::vector<CachedValue> kept;  // kept by rewrites
  CachedPart fixed;
  std::vector<std::size_t> shared;  // indices into InCommon::states that replicas share
  std::vector<std::string> notes;   // for the plan dump
};
BoundGraph bound_graph(const CompileRequest& request);

}  // namespace lockstep
