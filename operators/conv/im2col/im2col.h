// SPDX-License-Identifier: Apache-2.0
// Convolutions of row-major tensors as products of weights and columns (im2col, loops.h). They suit
// numbers of channels that fill no blocks, such as LeNet's 1, 20 and 50: oneDNN's kernels for them
// repeat work or reorder. A candidate before oneDNN's. Threads and lanes change no bit of a result,
// but the number of lanes determines which convolutions are refused.
#pragma once

#include "operators/conv/im2col/loops.h"
#include "operators/conv/implementations.h"

namespace lockstep {

// Empty in a build without these convolutions.
std::vector<ConvImplementation> im2col_convolutions();

// Uses `loops` instead of this processor's loops.
std::unique_ptr<Kernel> prepare_im2col(const KernelRequest& request,
                                       const im2col::Im2colLoops& loops);

}  // namespace lockstep
