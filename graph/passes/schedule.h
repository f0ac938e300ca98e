// SPDX-License-Identifier: Apache-2.0
// Orders a data-parallel step for running: replicas side by side, and all nodes outside forward and
// backward computation (reduces, updates) as soon as their operands exist.
#pragma once

#include "lockstep/graph.h"

namespace lockstep {

// Node k of every replica comes before node k+1 of any. Nodes from `first_appended` on (reduces and
// updates, which a builder appends at the end) move up to the computation that completes their
// operands, in their relative order. Nodes from `first_behind_all` on (updates by deferred
// gradients) come after all computation, even if their operands exist earlier. The order depends
// only on the graph, so collectives have the same order on every rank.
void schedule(Graph& graph, int first_appended, int first_behind_all);

}  // namespace lockstep
