// SPDX-License-Identifier: Apache-2.0
// The operator Reorder, which plans insert between kernels with different layouts, and the layout
// preferences that most kernels share. See runtime/plan/layouts.h.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// Layouts of a kernel that treats memory as a flat list. If an operand of the result's shape has
// channel blocks or tiles, all operands and results of that shape get this layout; other operands
// must be scalars. Nothing is padded, since the kernel may turn zeros into other numbers.
Layouts flat(const KernelRequest& request);

// Layouts of a kernel that maps 0 to 0 (see padding.h). Like flat(), and also accepts padded blocks
// if all operands have the result's shape.
Layouts flat_padded(const KernelRequest& request);

enum class LastBlock { whole, padded };  // padded: the last channel block may be padded

// Layouts of a kernel with listed operands and results that share a layout but may differ in
// spatial size: channel blocks if a listed operand has them.
LayoutPreference together(const std::vector<std::size_t>& in, const std::vector<std::size_t>& out,
                          LastBlock last = LastBlock::whole);

std::vector<Op> layout_ops();
std::vector<KernelEntry> layout_cpu();
std::vector<KernelEntry> layout_cuda();

}  // namespace lockstep
