// SPDX-License-Identifier: Apache-2.0
// Reductions over axes.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// Reduces over all axes if `axes` is empty.
Value reduce_sum(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                 const Site& site = {});
Value reduce_mean(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                  const Site& site = {});
Value arg_max(Graph& graph, Value x, int64_t axis, bool keep_dims, const Site& site = {});

std::vector<Op> reduce_ops();
std::vector<KernelEntry> reduce_cpu();
std::vector<KernelEntry> reduce_cuda();

}  // namespace lockstep
