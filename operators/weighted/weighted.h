// SPDX-License-Identifier: Apache-2.0
// Tensors times numbers, under Caffe2's names. Scale multiplies by a constant, WeightedSum by
// one-element tensors.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// y = factor * x
Value scale(Graph& graph, Value x, float factor, const Site& site = {});
// y = sum of weight_i * x_i; weights are tensors of one element.
Value weighted_sum(Graph& graph, const std::vector<std::pair<Value, Value>>& terms,
                   const Site& site = {});

std::vector<Op> weighted_ops();
std::vector<KernelEntry> weighted_cpu();
std::vector<KernelEntry> weighted_cuda();

}  // namespace lockstep
