// SPDX-License-Identifier: Apache-2.0
// Maxima over the windows that networks use, 3x3 and 2x2 with strides of 2, in channels-last
// images. A thread processes the neighbouring channels of one memory access.
#pragma once

#include "operators/pool/pool.h"

namespace lockstep {

// True for such windows from x to y, if the sizes do not exceed a grid's limits.
bool takes_packs(const Window& window, const TensorDesc& x, const TensorDesc& y);

// The kernel of MaxPool, or of MaxPoolPlaces if there is a second result.
std::unique_ptr<Kernel> max_of_packs(const KernelRequest& request, const Window& window);
// The kernel of MaxPoolPlacesGrad.
std::unique_ptr<Kernel> max_of_packs_grad(const KernelRequest& request, const Window& window);

}  // namespace lockstep
