// Selecting elements by index, and writing them back.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// Whole slices of x along `axis`, one per index.
Value gather(Graph& graph, Value x, Value indices, int64_t axis, const Site& site = {});

// Refuses any other `reduction`.
Refusal reduces_by(std::vector<std::string> known);

std::vector<Op> gather_ops();
std::vector<KernelEntry> gather_cpu();
std::vector<KernelEntry> gather_cuda();

}  // namespace lockstep
