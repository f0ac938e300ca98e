// The list of operators, and the lists of kernels. Adding an operator is a room and one line in
// each of the three lists.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// All operators Lockstep knows; made once, lives as long as the program.
const OpSet& all_ops();

// One table per kind of device that this build has kernels for.
const std::vector<KernelTable>& all_kernels();

}  // namespace lockstep
