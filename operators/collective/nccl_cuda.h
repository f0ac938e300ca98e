// Sums over replicas on several GPUs by NCCL's all-reduce, if no order is required.
#pragma once

#include <memory>

#include "operators/collective/collective.h"

namespace lockstep {

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs);

}  // namespace lockstep
