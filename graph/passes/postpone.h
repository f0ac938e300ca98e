// Moves nodes that depend on communication to the end.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace lockstep {

// A worker would block on such nodes (mostly updates) until the reduce or message has arrived. They
// move to the end, except those that other communication needs. Otherwise the order is kept, so
// that communication has the same order on every rank.
void postpone_what_follows(Graph& graph, const std::function<bool(const Node&)>& communicates);

}  // namespace lockstep
