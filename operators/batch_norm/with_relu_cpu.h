// A fused batch norm's additional work, around its kernel: adds z, applies the ReLU, masks dy.
#pragma once

#include "operators/batch_norm/batch_norm.h"

namespace lockstep {

std::unique_ptr<Kernel> with_relu(std::unique_ptr<Kernel> forward, const KernelRequest& request);
std::unique_ptr<Kernel> with_relu_grad(std::unique_ptr<Kernel> backward,
                                       const KernelRequest& request);

}  // namespace lockstep
