// Orders a data-parallel step for running: replicas side by side, and everything that is not
// forward or backward computation (reduces, updates) as soon as its operands are there.
#pragma once

#include "graph/graph.h"

namespace lockstep {

// Node k of every replica comes before node k+1 of any. Nodes from `first_appended` on (reduces and
// updates, which a builder appends at the end) move up to right behind the computation that
// completes their operands; among themselves they keep their order. Those from `first_behind_all`
// on come behind all computation, even if their operands are there earlier: updates by gradients
// that waited since the step before. Two graphs built alike are ordered alike, so collectives come
// in the same order on every rank.
void schedule(Graph& graph, int first_appended, int first_behind_all);

}  // namespace lockstep
