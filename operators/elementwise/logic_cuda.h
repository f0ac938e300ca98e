// SPDX-License-Identifier: Apache-2.0
// Logic, tests of floats, and rare arithmetic on a GPU.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

std::vector<KernelEntry> logic_cuda();

}  // namespace lockstep
