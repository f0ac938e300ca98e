// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 windows with a quarter of the multiplications, at twice the rounding error: a
// candidate before oneDNN's. Neither threads nor the width of vectors change a bit.
#pragma once

#include "operators/conv/winograd/loops.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// What a convolution of 3x3 windows costs, in multiplications of a matrix product.
struct WinogradCost {
  int64_t images, inputs, outputs;  // channels
  int64_t height, width;            // of the result

  double direct() const;
  double winograd() const;
};

Candidate winograd_forward();
Candidate winograd_grad_x();
Candidate winograd_grad_w();

// With these loops instead of this processor's.
std::unique_ptr<Kernel> prepare_winograd_forward(const KernelRequest& request,
                                                 const winograd::Loops& loops);
std::unique_ptr<Kernel> prepare_winograd_grad_x(const KernelRequest& request,
                                                const winograd::Loops& loops);
std::unique_ptr<Kernel> prepare_winograd_grad_w(const KernelRequest& request,
                                                const winograd::Loops& loops);

}  // namespace lockstep
