// Sums of replicas on several GPUs by NCCL's own all-reduce, for those that need no order.
#pragma once

#include <memory>

#include "operators/collective/collective.h"

namespace lockstep {

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs);

}  // namespace lockstep
