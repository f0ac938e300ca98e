// SPDX-License-Identifier: Apache-2.0
// Cuts one graph of a training step for one process.
#pragma once

#include "builders/step/shares.h"
#include "lockstep/graph.h"

namespace lockstep {

// Keeps the nodes of this process's replicas, renumbered from 0. Adds messages where values cross
// between processes. Messages are numbered from `first_message`.
Graph cut_graph(const Graph& whole, const Shares& shares, const Owners& owners,
                int64_t first_message);

}  // namespace lockstep
