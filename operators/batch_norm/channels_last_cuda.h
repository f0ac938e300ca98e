// Batch normalisation of images whose channels lie together. Sums are made in three launches: of
// pieces of the rows, by many blocks; over the pieces, channel by channel; and then each element.
#pragma once

#include "operators/batch_norm/batch_norm.h"

namespace lockstep {

std::unique_ptr<Kernel> channels_last_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> channels_last_batch_norm_grad(const KernelRequest& request);

}  // namespace lockstep
