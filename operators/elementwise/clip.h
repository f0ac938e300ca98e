// SPDX-License-Identifier: Apache-2.0
// Clip and its gradient.
//   Clip (ONNX)                   y = x, limited to low .. high; either bound may be omitted
//   ClipGrad (dy, x, low, high)   dx = dy where low <= x <= high, else 0
#pragma once

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

struct ClipGradIn {
  enum : std::size_t { dy, x, low, high };
};

Op clip_op();
Op clip_grad_op();
KernelEntry clip_cpu();
KernelEntry clip_grad_cpu();
KernelEntry clip_cuda();
KernelEntry clip_grad_cuda();

}  // namespace lockstep
