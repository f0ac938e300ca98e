// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 windows with a quarter of the multiplications, at twice the rounding error. A
// candidate before oneDNN's. The number of threads and the width of vectors change no bit.
#pragma once

#include "operators/conv/implementations.h"
#include "operators/conv/winograd/loops.h"

namespace lockstep {

// The cost of a convolution of 3x3 windows, in multiplications of a matrix product.
struct WinogradCost {
  int64_t images, inputs, outputs;  // channels
  int64_t height, width;            // of the result

  double direct() const;
  double winograd() const;
};

// Empty in a build without Winograd's method.
std::vector<ConvImplementation> winograd_convolutions();

// Uses `loops` instead of this processor's loops.
std::unique_ptr<Kernel> prepare_winograd(const KernelRequest& request,
                                         const winograd::Loops& loops);

}  // namespace lockstep
