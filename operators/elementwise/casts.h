// Many casts in one node, which occurs in plans only.
//   Casts (x..) -> y..   from float32 to 16 bits; attribute to: as Cast has it
#pragma once

#include <set>
#include <string>

#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// Makes one node of all casts of a replica's parameters to 16 bits.
Rewritten fuse_casts(const Graph& graph, const std::set<std::string>& known);

Op casts_op();
KernelEntry casts_cpu();
KernelEntry casts_cuda();

}  // namespace lockstep
