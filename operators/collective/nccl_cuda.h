// SPDX-License-Identifier: Apache-2.0
// By NCCL, between replicas on several GPUs: sums if no order is required, and broadcasts that may
// go any path.
#pragma once

#include <memory>

#include "operators/collective/collective.h"

namespace lockstep {

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs);
std::unique_ptr<Kernel> nccl_broadcast(const KernelRequest& request);

}  // namespace lockstep
