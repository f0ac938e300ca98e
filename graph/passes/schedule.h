// Orders a data-parallel step for running: replicas side by side, and everything that is not
// forward or backward computation (reduces, updates) as soon as its operands are there.
#pragma once

#include "graph/graph.h"

namespace lockstep {

// Node k of every replica comes before node k+1 of any. Nodes after `first_update` (reduces and
// updates, which a builder appends at the end) move up to right behind the computation that
// completes their operands; among themselves they keep their order. Two graphs built alike are
// ordered alike, so collectives come in the same order on every rank. Nodes after `first_at_end`
// come behind all computation, though their operands may be there before: updates by gradients that
// waited since the step before.
void schedule(Graph& graph, int first_update, int first_at_end);

}  // namespace lockstep
