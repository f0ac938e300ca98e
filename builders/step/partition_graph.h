// SPDX-License-Identifier: Apache-2.0
// Cuts one graph of a training step for one process.
#pragma once

#include "builders/step/shares.h"
#include "lockstep/graph.h"

namespace lockstep {

// An attribute of a Copy whose shape depends on the batch: the name of a value on the receiving
// replica that has this shape. Only if shares of the batch are equal.
inline constexpr const char* kShapedLike = "__shaped_like";

// Keeps the nodes of this process's replicas, renumbered from 0. Adds messages where values cross
// between processes. Messages are numbered from `first_message`.
Graph cut_graph(const Graph& whole, const Shares& shares, const Owners& owners,
                int64_t first_message);

}  // namespace lockstep
