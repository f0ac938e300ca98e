// SPDX-License-Identifier: Apache-2.0
// A step's graph on its way to a plan: bound to the shapes of a batch, rewritten for its devices,
// laid out, in the order in which it runs. Passes 1 to 5 of compile().
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/compile.h"
#include "runtime/plan/fixed.h"

namespace lockstep {

struct BoundGraph {
  Graph graph;
  std::vector<Layout> layouts;   // by value
  std::vector<Value> fetched;    // as requested: row-major
  std::vector<Binding> updates;  // of the request, that remain where replicas share states
  std::vector<Value> updated;    // their values, in the layouts of the states
  std::vector<KeptValue> kept;   // by rewrites
  FixedPart fixed;
  std::vector<std::size_t> shared;  // of InCommon::states: replicas keep these once
  std::vector<std::string> notes;   // for the plan dump
};
BoundGraph bound_graph(const CompileRequest& request);

}  // namespace lockstep
