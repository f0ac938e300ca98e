// SPDX-License-Identifier: Apache-2.0
// Part of this folder's CPU kernels.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_top_k(const KernelRequest& request);

}  // namespace lockstep
