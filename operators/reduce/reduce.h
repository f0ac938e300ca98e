// SPDX-License-Identifier: Apache-2.0
// Reductions over axes.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Op> reduce_ops();
std::vector<KernelEntry> reduce_cpu();
std::vector<KernelEntry> reduce_cuda();

}  // namespace lockstep
