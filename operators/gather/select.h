// SPDX-License-Identifier: Apache-2.0
// Kernels that select by value or by position: TopK, OneHot, Trilu.
#pragma once

#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

std::vector<KernelEntry> select_cpu();
std::vector<KernelEntry> select_cuda();

}  // namespace lockstep
