// Normalisation with statistics that are given or computed per example. (Training-mode batch
// normalisation, with its running statistics, is a step of its own and not here yet.)
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel.h"

namespace lockstep {

std::vector<Op> norm_ops();
std::vector<KernelEntry> norm_cpu();

}  // namespace lockstep
