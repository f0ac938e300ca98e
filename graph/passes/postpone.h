// Moves nodes that depend on communication to the end. Otherwise the order is kept, so that
// communication has the same order on every rank.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace lockstep {

using NodeTest = std::function<bool(const Node&)>;

// Where communication takes time of its own: a worker would block on such nodes (mostly updates)
// until the reduce or message has arrived. They move to the end, except those that other
// communication needs.
void postpone_what_follows(Graph& graph, const NodeTest& communicates);

// Where communication takes the workers' own time: it moves itself, with what follows it, if it
// leads to no other one and `may_wait`. Workers then meet at the end instead of after every
// gradient, each time waiting for the one that happens to be slower.
void postpone_meetings(Graph& graph, const NodeTest& communicates, const NodeTest& may_wait);

}  // namespace lockstep
