// SPDX-License-Identifier: Apache-2.0
// The list of operators, and the lists of kernels. A new folder needs an include and a row in
// rooms.h.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// All of Lockstep's operators; made once, lives as long as the program.
const OpSet& all_ops();

// One table per kind of device supported by this build.
const std::vector<KernelTable>& all_kernels();

}  // namespace lockstep
