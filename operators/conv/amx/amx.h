// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by AMX tiles. They are candidates before oneDNN's, since oneDNN's AMX
// kernels read and write channels-last, a layout that CPU plans do not support. The number of
// threads changes no bit.
#pragma once

#include "operators/conv/implementations.h"

namespace lockstep {

// Empty in a build without AMX.
std::vector<ConvImplementation> amx_convolutions();

// Convolutions of row-major images with few channels, such as a network's first convolution.
ConvImplementation amx_windows();
// Refuses processors without AMX for this process, empty tensors, and problems that no AMX method
// computes. Then applies `shapes`.
Refusal takes_tiles(Refusal shapes);

}  // namespace lockstep
