// SPDX-License-Identifier: Apache-2.0
// The factories of the CPU kernels; roi_cpu.cc lists them.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_roi_mean(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_roi_mean_grad(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_multilevel(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_multilevel_grad(const KernelRequest& request);

std::unique_ptr<Kernel> prepare_roi_max(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_roi_max_grad(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_max_roi_pool(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_max_roi_pool_grad(const KernelRequest& request);

std::unique_ptr<Kernel> prepare_position(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_position_grad(const KernelRequest& request);

}  // namespace lockstep
