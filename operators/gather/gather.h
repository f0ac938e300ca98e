// SPDX-License-Identifier: Apache-2.0
// Selecting elements by index, and writing them back.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

// Refuses any `reduction` that is not in the list.
Refusal reduces_by(std::vector<std::string> known);

std::vector<Op> gather_ops();
std::vector<KernelEntry> gather_cpu();
std::vector<KernelEntry> gather_cuda();
std::vector<KernelEntry> gather_nd_cuda();  // in gather_cuda()

}  // namespace lockstep
