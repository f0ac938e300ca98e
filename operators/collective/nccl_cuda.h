// SPDX-License-Identifier: Apache-2.0
// NCCL collectives between replicas on several GPUs: sums without a required order, and broadcasts
// that may use any path.
#pragma once

#include <memory>

#include "operators/collective/collective.h"

namespace lockstep {

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs);
std::unique_ptr<Kernel> nccl_broadcast(const KernelRequest& request);

}  // namespace lockstep
