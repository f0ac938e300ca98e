// SPDX-License-Identifier: Apache-2.0
// Arithmetic with numpy's broadcasting, element-wise functions, Cast.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Op> elementwise_ops();
std::vector<KernelEntry> elementwise_cpu();
std::vector<KernelEntry> elementwise_cuda();

}  // namespace lockstep
