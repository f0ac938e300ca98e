// SPDX-License-Identifier: Apache-2.0
// Moves communication, or the nodes that depend on it, to the end. All other nodes keep their
// order, and so do messages on every rank.
#pragma once

#include <functional>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

using NodeTest = std::function<bool(const Node&)>;

// Moves nodes that depend on communication (mostly updates) to the end, except nodes that other
// communication needs. For devices that communicate asynchronously: a worker would block on these
// nodes until the reduce or message has arrived.
void postpone_what_follows(Graph& graph, const NodeTest& communicates);

// Returns the communication nodes that lead to no other communication. They may come last if
// workers communicate themselves.
std::vector<int> last_communication(const Graph& graph, const NodeTest& communicates);

// Moves nodes to the end, with all nodes that depend on them.
void postpone(Graph& graph, const std::vector<int>& nodes);

}  // namespace lockstep
