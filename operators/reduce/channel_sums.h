// SPDX-License-Identifier: Apache-2.0
// Sums over everything but the channels: the gradient of a bias.
//   ChannelSums (x) -> y   float32[C]: the sums of x's elements over all dimensions but `axis`.
//                          x may have 16 bits; the sums equal the sums of x cast to float32.
// The operator occurs in plans only (fuse_channel_sums). CPU kernels read channel blocks without a
// reorder, for ReduceSum of float32, too. The bits are the same as for the row-major sum.
#pragma once

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

Op channel_sums_op();

// Replaces each cast of 16 bits to float32 and the ReduceSum after it that keeps one dimension by a
// ChannelSums.
Rewritten fuse_channel_sums(const Graph& graph, const RewriteContext& context);

// The CPU kernel.
std::string no_channel_sums(const KernelRequest& request);
Layouts channel_sums_layouts(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_channel_sums(const KernelRequest& request);

}  // namespace lockstep
