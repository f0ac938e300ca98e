// SPDX-License-Identifier: Apache-2.0
// GPU kernels of NegativeLogLikelihoodLoss and its gradient.
#pragma once

#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

std::vector<KernelEntry> likelihood_cuda();

}  // namespace lockstep
