// The operators of a training step's updates, under Caffe2's names: Scale and WeightedSum apply the
// rules of a parameter's class, MomentumSGDUpdate and AdamUpdate (update.h) make the new parameter,
// and FirstNonFinite decides whether they may.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// y = factor * x
Value scale(Graph& graph, Value x, float factor, const Site& site = {});
// y = sum of weight_i * x_i; weights are tensors of one element.
Value weighted_sum(Graph& graph, const std::vector<std::pair<Value, Value>>& terms,
                   const Site& site = {});
// The number of the first tensor that holds a non-finite value; -1 if there is none.
Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site = {});

// Fuses all updates of a replica by the same rule into one node, including weight decay and factors
// of their gradients.
Rewritten fuse_updates(const Graph& graph, const std::set<std::string>& known);

std::vector<Op> optimizer_ops();
std::vector<KernelEntry> optimizer_cpu();
std::vector<KernelEntry> optimizer_cuda();

}  // namespace lockstep
