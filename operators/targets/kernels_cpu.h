// SPDX-License-Identifier: Apache-2.0
// The factories of the CPU kernels; targets_cpu.cc lists them.
#pragma once

#include <memory>

#include "lockstep/kernel.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_anchor_targets(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_proposal_targets(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_mask_targets(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_keypoint_targets(const KernelRequest& request);

}  // namespace lockstep
