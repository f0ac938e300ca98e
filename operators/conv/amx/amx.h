// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by matrix tiles (AMX): candidates before oneDNN's, whose own read and
// write channels last, a layout that plans for CPUs do not know. Threads do not change a bit.
#pragma once

#include "operators/conv/implementations.h"

namespace lockstep {

// Empty in a build without them.
std::vector<ConvImplementation> amx_convolutions();

// Of row-major images of few channels, as a network's first ones.
ConvImplementation amx_windows();
// Refuses processors without matrix tiles that this process may use, empty tensors, and problems
// that no method by tiles computes; then whatever `shapes` refuses.
Refusal takes_tiles(Refusal shapes);

}  // namespace lockstep
