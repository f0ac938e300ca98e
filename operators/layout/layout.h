// Reorder, which plans insert between kernels that want a tensor in different layouts, and the
// wishes that most kernels have. See runtime/plan/layouts.h.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// A wish for kernels that treat memory as a flat list: when an operand of the result's shape comes
// in channel blocks, all of that shape do, and the results too. Other operands must be scalars.
Layouts flat(const KernelRequest& request);

// A wish for kernels of which the listed operands and results share a layout, whatever their
// spatial sizes: channel blocks as soon as one of those operands has them.
LayoutWish together(std::vector<std::size_t> in, std::vector<std::size_t> out);

std::vector<Op> layout_ops();
std::vector<KernelEntry> layout_cpu();
std::vector<KernelEntry> layout_cuda();

}  // namespace lockstep
