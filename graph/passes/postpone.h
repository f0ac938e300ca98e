// Puts what only follows communication behind all other nodes.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace lockstep {

// A worker would stop at what follows a reduce or a message (updates, mostly) until that has come:
// such nodes move to the end, but for those that other communication needs. All keep their order
// among themselves, so communication comes in the same order on every rank.
void postpone_what_follows(Graph& graph, const std::function<bool(const Node&)>& communicates);

}  // namespace lockstep
