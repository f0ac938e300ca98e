// SPDX-License-Identifier: Apache-2.0
// Stub for builds without convolutions by columns.
#include "operators/conv/im2col/im2col.h"

namespace lockstep {

std::vector<ConvImplementation> im2col_convolutions() { return {}; }

const im2col::Im2colLoops* im2col::loops_here() { return nullptr; }

}  // namespace lockstep
