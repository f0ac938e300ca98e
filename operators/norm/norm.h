// SPDX-License-Identifier: Apache-2.0
// Normalisation with statistics of each example: over a plane (InstanceNormalization), over the
// last axes (LayerNormalization), over neighbouring channels (LRN).
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

struct GroupNormAttrs {
  int64_t groups = 32;
  float epsilon = 1e-5F;
};
// Mean and variance over each group of channels; scale and bias [C] per channel. Expressed in ONNX
// as an InstanceNormalization of [N, groups, ..] between reshapes.
Value group_norm(Graph& graph, Value x, Value scale, Value bias, const GroupNormAttrs& attrs = {},
                 const Site& site = {});
Value layer_norm(Graph& graph, Value x, Value scale, Value bias, int64_t axis = -1,
                 float epsilon = 1e-5F, const Site& site = {});

// True if the node's statistics are sums over an example's positions, so that padded positions
// count.
bool sums_over_places(const Node& node);

std::vector<Op> norm_ops();
std::vector<KernelEntry> norm_cpu();
std::vector<KernelEntry> norm_cuda();

}  // namespace lockstep
