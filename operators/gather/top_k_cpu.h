// SPDX-License-Identifier: Apache-2.0
// The CPU kernel of TopK.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_top_k(const KernelRequest& request);

}  // namespace lockstep
