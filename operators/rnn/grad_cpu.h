// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lockstep/kernel.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_recurrent_grad(const KernelRequest& request);

}  // namespace lockstep
