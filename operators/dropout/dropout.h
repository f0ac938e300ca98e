// SPDX-License-Identifier: Apache-2.0
// Dropout from a counter-based generator. The mask is a function of the session's seed, the step,
// the node and the position, so it does not depend on thread timing or on a resume, and the
// backward pass draws it again instead of storing it.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// Returns x in prediction. In training, sets a fraction `ratio` of the elements to 0 and scales up
// the others. Every node draws its own numbers.
Value dropout(Graph& graph, Value x, float ratio, bool training, const Site& site = {});

std::vector<Op> dropout_ops();
std::vector<KernelEntry> dropout_cpu();
std::vector<KernelEntry> dropout_cuda();

}  // namespace lockstep
