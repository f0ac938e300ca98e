// SPDX-License-Identifier: Apache-2.0
// Part of this room's GPU kernels.
#pragma once

#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep {

std::vector<KernelEntry> likelihood_cuda();

}  // namespace lockstep
