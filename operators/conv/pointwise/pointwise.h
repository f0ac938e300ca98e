// SPDX-License-Identifier: Apache-2.0
// Gradients of the filters of 1x1 convolutions in bfloat16, on processors that multiply it but have
// no matrix unit: a candidate before oneDNN's, which reaches two thirds of their speed there.
// Threads do not change a bit.
#pragma once

#include "operators/conv/implementations.h"

namespace lockstep {

std::vector<ConvImplementation> pointwise_convolutions();

// On any processor with AVX512-BF16.
std::unique_ptr<Kernel> prepare_pointwise_grad_w(const KernelRequest& request);

}  // namespace lockstep
