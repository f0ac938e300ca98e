// SPDX-License-Identifier: Apache-2.0
// Normalisation with statistics of each example: over a plane (InstanceNormalization), over the
// last axes (LayerNormalization), over neighbouring channels (LRN).
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

// True if the node's statistics are sums over an example's positions, so that padded positions
// count.
bool sums_over_places(const Node& node);

std::vector<Op> norm_ops();
std::vector<KernelEntry> norm_cpu();
std::vector<KernelEntry> norm_cuda();

}  // namespace lockstep
