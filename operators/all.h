// The list of operators, and the lists of kernels. A new operator takes a room and one line in
// each of the three lists.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// All of Lockstep's operators; made once, lives as long as the program.
const OpSet& all_ops();

// One table per kind of device supported by this build.
const std::vector<KernelTable>& all_kernels();

}  // namespace lockstep
