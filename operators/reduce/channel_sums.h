// ReduceSum over everything but the channels, of channel blocks: the gradient of a convolution's
// bias. The bits are those of the row-major sum.
#pragma once

#include "runtime/kernel_table.h"

namespace lockstep {

std::string no_channel_sums(const KernelRequest& request);
Layouts channel_sums_layouts(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_channel_sums(const KernelRequest& request);

}  // namespace lockstep
