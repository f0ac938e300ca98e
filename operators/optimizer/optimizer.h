// SPDX-License-Identifier: Apache-2.0
// The operators of a training step's updates: MomentumSGDUpdate and the others made from rules.h
// make the new parameter, and FirstNonFinite decides whether they may.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// The number of the first tensor that holds a non-finite value; -1 if there is none.
Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site = {});

// Fuses all updates of a replica by the same rule into one node, including weight decay and factors
// of their gradients.
Rewritten fuse_updates(const Graph& graph, const Known& known);
// The same, so many at a time as fit a cache. A plan then holds few gradients at once, and updates
// find them in the cache.
Rewritten fuse_small_updates(const Graph& graph, const Known& known);

// Has fused updates write, beside the parameters themselves, the forms of them that the step reads:
// casts to 16 bits, and filters in other tiles. The plan keeps them for its next run. Before
// layouts are chosen these are casts alone.
Rewritten keep_copies(const Graph& graph, const Known& known);

std::vector<Op> optimizer_ops();
std::vector<KernelEntry> optimizer_cpu();
std::vector<KernelEntry> optimizer_cuda();

}  // namespace lockstep
