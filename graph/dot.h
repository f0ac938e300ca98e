// SPDX-License-Identifier: Apache-2.0
// A graph for Graphviz.
#pragma once

#include <optional>
#include <string>

#include "lockstep/graph.h"

namespace lockstep {

struct DotOptions {
  // Scopes deeper than this are folded into one box each (graph/scopes.h); empty: no scope is.
  std::optional<int> depth = {};
};
// One cluster for each replica. Names are escaped, and long names are cut.
std::string dot_of(const Graph& graph, const DotOptions& options = {});

}  // namespace lockstep
