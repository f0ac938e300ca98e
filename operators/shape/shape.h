// SPDX-License-Identifier: Apache-2.0
// Operators that move or reinterpret data.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Op> shape_ops();
std::vector<KernelEntry> shape_cpu();
std::vector<KernelEntry> shape_cuda();

}  // namespace lockstep
