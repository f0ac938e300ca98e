// SPDX-License-Identifier: Apache-2.0
// Operators that move or reinterpret data.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

Value identity(Graph& graph, Value x, const Site& site = {});
// Returns x unchanged; no gradient flows through the node.
Value stop_gradient(Graph& graph, Value x, const Site& site = {});
// In `shape`, 0 copies a dimension of x, and -1 is computed from the number of elements.
Value reshape(Graph& graph, Value x, const std::vector<int64_t>& shape, const Site& site = {});
// Reshapes to the shape of another value, even if the batch size is unknown.
Value reshape_like(Graph& graph, Value x, Value like, const Site& site = {});
Value flatten(Graph& graph, Value x, int64_t axis = 1, const Site& site = {});
Value transpose(Graph& graph, Value x, const std::vector<int64_t>& order, const Site& site = {});
Value concat(Graph& graph, const std::vector<Value>& parts, int64_t axis, const Site& site = {});
Value slice(Graph& graph, Value x, int64_t axis, int64_t start, int64_t end, const Site& site = {});
// The shape of x as a value: a constant if known, else a Shape node.
Value shape_of(Graph& graph, Value x, const Site& site = {});
Value expand_like(Graph& graph, Value x, Value like, const Site& site = {});

std::vector<Op> shape_ops();
std::vector<KernelEntry> shape_cpu();
std::vector<KernelEntry> shape_cuda();

}  // namespace lockstep
