// SPDX-License-Identifier: Apache-2.0
// Sums over everything but the channels: the gradient of a bias.
//   ChannelSums (x) -> y   float32[C]: x's elements are added up over all dimensions but `axis`. x
//                          may have 16 bits; its sums are those of its cast to float32.
// occurs in plans only (fuse_channel_sums). CPU kernels read channel blocks as they lie, for
// ReduceSum of float32, too. The bits are those of the row-major sum.
#pragma once

#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

Op channel_sums_op();

// Makes a ChannelSums of each cast of 16 bits to float32 and the ReduceSum behind it that leaves
// one dimension.
Rewritten fuse_channel_sums(const Graph& graph, const Known& known);

// On the CPU.
std::string no_channel_sums(const KernelRequest& request);
Layouts channel_sums_layouts(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_channel_sums(const KernelRequest& request);

}  // namespace lockstep
