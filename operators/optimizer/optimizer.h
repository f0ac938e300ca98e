// SPDX-License-Identifier: Apache-2.0
// The operators of a training step's updates. MomentumSGDUpdate and the other operators made from
// rules.h compute the new parameter. FirstNonFinite decides if the update is skipped.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// The index of the first tensor with a non-finite value; -1 if there is none.
Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site = {});

// Fuses all updates of a replica by the same rule into one node, including weight decay and factors
// of their gradients.
Rewritten fuse_updates(const Graph& graph, const RewriteContext& context);
// Fuses updates in portions that fit the cache. The plan then holds few gradients at once, and
// updates read the gradients from the cache.
Rewritten fuse_small_updates(const Graph& graph, const RewriteContext& context);

// Lets fused updates write, besides the parameters, the forms of parameters that the step reads:
// casts to 16 bits, and filters in other tiles. The plan caches these copies for its next run.
// Before layouts are chosen, copies are casts only.
Rewritten keep_copies(const Graph& graph, const RewriteContext& context);

std::vector<Op> optimizer_ops();
std::vector<KernelEntry> optimizer_cpu();
std::vector<KernelEntry> optimizer_cuda();

}  // namespace lockstep
