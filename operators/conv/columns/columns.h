// SPDX-License-Identifier: Apache-2.0
// Convolutions of row-major tensors as products of weights and columns (loops.h), for channels that
// fill no blocks: LeNet's 1, 20 and 50. oneDNN's kernels for them repeat work or reorder. A
// candidate before oneDNN's. Neither threads nor lanes change a bit of its results; lanes decide
// which convolutions it takes.
#pragma once

#include "operators/conv/columns/loops.h"
#include "operators/conv/implementations.h"

namespace lockstep {

// Empty in a build without them.
std::vector<ConvImplementation> column_convolutions();

// With these loops instead of this processor's.
std::unique_ptr<Kernel> prepare_columns(const KernelRequest& request,
                                        const columns::ColumnLoops& loops);

}  // namespace lockstep
