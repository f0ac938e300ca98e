// SPDX-License-Identifier: Apache-2.0
// Maxima over the windows that networks have, 3x3 and 2x2 by steps of two, of channels-last images:
// a thread takes neighbouring channels, as many as one memory access brings.
#pragma once

#include "operators/pool/pool.h"

namespace lockstep {

// True for such windows from x to y, whose sizes do not exceed a grid's.
bool takes_packs(const Window& window, const TensorDesc& x, const TensorDesc& y);

// MaxPool, or with a second result MaxPoolPlaces.
std::unique_ptr<Kernel> max_of_packs(const KernelRequest& request, const Window& window);
// MaxPoolPlacesGrad.
std::unique_ptr<Kernel> max_of_packs_grad(const KernelRequest& request, const Window& window);

}  // namespace lockstep
