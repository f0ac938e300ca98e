// SPDX-License-Identifier: Apache-2.0
// Arithmetic with numpy's broadcasting, element-wise functions, Cast.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

Value add(Graph& graph, Value a, Value b, const Site& site = {});
Value sub(Graph& graph, Value a, Value b, const Site& site = {});
Value mul(Graph& graph, Value a, Value b, const Site& site = {});
Value div(Graph& graph, Value a, Value b, const Site& site = {});
Value neg(Graph& graph, Value x, const Site& site = {});
Value clip(Graph& graph, Value x, float low, float high, const Site& site = {});
Value equal(Graph& graph, Value a, Value b, const Site& site = {});
Value cast(Graph& graph, Value x, DType to, const Site& site = {});

std::vector<Op> elementwise_ops();
std::vector<KernelEntry> elementwise_cpu();
std::vector<KernelEntry> elementwise_cuda();

}  // namespace lockstep
