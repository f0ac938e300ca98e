// SPDX-License-Identifier: Apache-2.0
// Gradients of the filters of 1x1 convolutions in bfloat16, on processors that multiply bfloat16
// but have no AMX. A candidate before oneDNN's, which reaches two thirds of their speed there. The
// number of threads changes no bit.
#pragma once

#include "operators/conv/implementations.h"

namespace lockstep {

std::vector<ConvImplementation> pointwise_convolutions();

// Works on any processor with AVX512-BF16.
std::unique_ptr<Kernel> prepare_pointwise_grad_w(const KernelRequest& request);

}  // namespace lockstep
