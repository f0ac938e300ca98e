// SPDX-License-Identifier: Apache-2.0
// Part of this room's kernels: selection by value or by place (TopK, OneHot, Trilu).
#pragma once

#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep {

std::vector<KernelEntry> select_cpu();
std::vector<KernelEntry> select_cuda();

}  // namespace lockstep
