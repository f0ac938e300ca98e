// SPDX-License-Identifier: Apache-2.0
// Runs the inference graph of any model once, on the CPU.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/kernel.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Inputs are given by name, outputs are in the order of the graph. Shapes must be known before a
// run. If an output's shape depends on an input's value (such as Reshape's target), small inputs
// become constants of this plan.
std::vector<Literal> run_inference(const Graph& graph, const std::map<std::string, Literal>& inputs,
                                   const std::vector<KernelTable>& kernels);

}  // namespace lockstep
