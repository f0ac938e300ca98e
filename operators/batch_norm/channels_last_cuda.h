// Batch normalisation of channels-last images, in three launches: partial sums over chunks of rows,
// by many blocks; sums over the chunks, by channel; then each element.
#pragma once

#include "operators/batch_norm/batch_norm.h"

namespace lockstep {

std::unique_ptr<Kernel> channels_last_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> channels_last_batch_norm_grad(const KernelRequest& request);

}  // namespace lockstep
