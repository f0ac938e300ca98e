// SPDX-License-Identifier: Apache-2.0
// Resize: resamples images (tensors of any rank) by nearest, linear or cubic interpolation.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

std::vector<Op> resize_ops();
std::vector<KernelEntry> resize_cpu();
std::vector<KernelEntry> resize_cuda();

}  // namespace lockstep
