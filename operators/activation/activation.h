// SPDX-License-Identifier: Apache-2.0
// Relu, Sigmoid, Tanh, and their gradients, which read the forward output.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Op> activation_ops();
std::vector<KernelEntry> activation_cpu();
std::vector<KernelEntry> activation_cuda();

}  // namespace lockstep
