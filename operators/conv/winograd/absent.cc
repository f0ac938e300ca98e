// SPDX-License-Identifier: Apache-2.0
// Stub for builds without Winograd's method.
#include "operators/conv/winograd/winograd.h"

namespace lockstep {

std::vector<ConvImplementation> winograd_convolutions() { return {}; }

const winograd::Loops* winograd::loops_here() { return nullptr; }

}  // namespace lockstep
