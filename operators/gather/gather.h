// SPDX-License-Identifier: Apache-2.0
// Selecting elements by index, and writing them back.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// Whole slices of x along `axis`, one per index.
Value gather(Graph& graph, Value x, Value indices, int64_t axis, const Site& site = {});

// Element by element: indices [a, b, ..] of the result's shape point along `axis` of x.
Value gather_elements(Graph& graph, Value x, Value indices, int64_t axis, const Site& site = {});

struct Best {
  Value values, places;  // positions along the axis, of int64
};
// The k largest elements along `axis`, best first; equal elements in index order.
Best top_k(Graph& graph, Value x, int64_t k, int64_t axis, const Site& site);

// Refuses any `reduction` that is not in the list.
Refusal reduces_by(std::vector<std::string> known);

std::vector<Op> gather_ops();
std::vector<KernelEntry> gather_cpu();
std::vector<KernelEntry> gather_cuda();

}  // namespace lockstep
