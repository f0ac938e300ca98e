// SPDX-License-Identifier: Apache-2.0
// Reorder, which plans insert between kernels with different layouts, and the layout preferences
// that most kernels share. See runtime/plan/layouts.h.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// For kernels that treat memory as a flat list: if an operand of the result's shape has channel
// blocks or tiles, all of that shape get them, and so do the results. Others must be scalars.
// Nothing is padded, since a kernel may make other numbers of zeros.
Layouts flat(const KernelRequest& request);

// For those that make 0 of zeros (see padding.h): padded blocks, too, if all operands have the
// result's shape.
Layouts flat_padded(const KernelRequest& request);

enum class LastBlock { whole, padded };  // the most that a kernel takes

// For kernels whose listed operands and results share a layout, whatever their spatial sizes:
// channel blocks if one of those operands has them.
LayoutWish together(const std::vector<std::size_t>& in, const std::vector<std::size_t>& out,
                    LastBlock last = LastBlock::whole);

std::vector<Op> layout_ops();
std::vector<KernelEntry> layout_cpu();
std::vector<KernelEntry> layout_cuda();

}  // namespace lockstep
