// Dropout, drawn from a counter-based generator: the mask is a function of (the session's seed, the
// step, the node, the position), so it is the same at any thread timing and after a resume, and
// the backward pass draws it again instead of keeping it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// x in prediction; in training a share `ratio` of the elements is 0 and the others grow to make up
// for it. Every node draws its own numbers.
Value dropout(Graph& graph, Value x, float ratio, bool training, const Site& site = {});

std::vector<Op> dropout_ops();
std::vector<KernelEntry> dropout_cpu();
std::vector<KernelEntry> dropout_cuda();

}  // namespace lockstep
