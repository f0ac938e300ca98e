// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 windows with a quarter of the multiplications, at twice the rounding error: a
// candidate before oneDNN's. Neither threads nor the width of vectors change a bit.
#pragma once

#include "operators/conv/implementations.h"
#include "operators/conv/winograd/loops.h"

namespace lockstep {

// What a convolution of 3x3 windows costs, in multiplications of a matrix product.
struct WinogradCost {
  int64_t images, inputs, outputs;  // channels
  int64_t height, width;            // of the result

  double direct() const;
  double winograd() const;
};

// Empty in a build without Winograd's method.
std::vector<ConvImplementation> winograd_convolutions();

// With these loops instead of this processor's.
std::unique_ptr<Kernel> prepare_winograd(const KernelRequest& request,
                                         const winograd::Loops& loops);

}  // namespace lockstep
