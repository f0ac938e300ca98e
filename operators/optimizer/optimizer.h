// The operators of a training step's updates, under the names that users of Caffe2 know: Scale and
// WeightedSum apply the rules of a parameter's class, MomentumSGDUpdate and AdamUpdate (update.h)
// make the new parameter, and FirstNonFinite finds out whether they may.
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
// The number of the first tensor that holds a value that is not finite; -1 when there is none.
Value first_non_finite(Graph& graph, const std::vector<Value>& tensors, const Site& site = {});

// All updates of a replica by the same rule, weight decay and factors of their gradients included,
// become one node.
Rewritten fuse_updates(const Graph& graph, const std::set<std::string>& known);

std::vector<Op> optimizer_ops();
std::vector<KernelEntry> optimizer_cpu();
std::vector<KernelEntry> optimizer_cuda();

}  // namespace lockstep
