// SPDX-License-Identifier: Apache-2.0
// The operator Reorder, which plans insert between kernels with different layouts, and the layout
// preferences that most kernels share. See runtime/plan/layouts.h.
#pragma once

#include <vector>

#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// For kernels that treat memory as a flat list. If an operand of the result's shape has channel
// blocks or tiles, all operands and results of that shape get this layout; other operands must be
// scalars. Nothing is padded, since the kernel may turn zeros into other numbers.
Layouts flat(const KernelRequest& request);

// For kernels that map 0 to 0 (see padding.h): padded blocks are accepted, too, if all operands
// have the result's shape.
Layouts flat_padded(const KernelRequest& request);

enum class LastBlock { whole, padded };  // the weakest requirement that a kernel accepts

// For kernels whose listed operands and results share a layout but may differ in spatial size:
// channel blocks if a listed operand has them.
LayoutWish together(const std::vector<std::size_t>& in, const std::vector<std::size_t>& out,
                    LastBlock last = LastBlock::whole);

std::vector<Op> layout_ops();
std::vector<KernelEntry> layout_cpu();
std::vector<KernelEntry> layout_cuda();

}  // namespace lockstep
