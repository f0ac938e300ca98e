// SPDX-License-Identifier: Apache-2.0
// Moves communication, or what follows it, to the end. All else keeps its order, and so do messages
// on every rank.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

using NodeTest = std::function<bool(const Node&)>;

// Where communication takes time of its own: a worker would block on what follows it (mostly
// updates) until the reduce or message has arrived. It moves to the end, except what other
// communication needs.
void postpone_what_follows(Graph& graph, const NodeTest& communicates);

// Where workers communicate themselves, what leads to no other communication may come last.
std::vector<int> last_communication(const Graph& graph, const NodeTest& communicates);

// Moves nodes to the end, with what follows them.
void postpone(Graph& graph, const std::vector<int>& nodes);

}  // namespace lockstep
