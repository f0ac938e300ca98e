// SPDX-License-Identifier: Apache-2.0
// Runs the inference graph of any model once, on the CPU.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/training.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// Inputs by name; outputs in the order of the graph. Shapes must be known before a step runs. If an
// output shape depends on an input's value (Reshape's target, say), small inputs become constants
// of this one plan.
std::vector<Literal> run_inference(const Graph& graph, const std::map<std::string, Literal>& inputs,
                                   const std::vector<KernelTable>& kernels);

}  // namespace lockstep
