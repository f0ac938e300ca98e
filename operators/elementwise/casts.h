// SPDX-License-Identifier: Apache-2.0
// Many casts in one node, which occurs in plans only.
//   Casts (x..) -> y..   from float32 to 16 bits; attribute `to`: as in Cast
#pragma once

#include <cstdint>

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// Merges all casts of a replica's parameters to 16 bits into one node.
Rewritten fuse_casts(const Graph& graph, const RewriteContext& context);

Op casts_op();
// The layout in which a GPU casts a parameter to 16 bits: weights are channels-last, as tensor
// cores need them.
inline Layout layout_of_cast(const TensorDesc& x) {
  const bool is_weight = x.dims.size() == 4 && x.count() > 0 && x.count() <= UINT32_MAX;
  return is_weight ? Layout::channels_last(x.dims[1]) : Layout();
}

KernelEntry casts_cpu();
KernelEntry casts_cuda();

}  // namespace lockstep
