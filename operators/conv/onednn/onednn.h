// SPDX-License-Identifier: Apache-2.0
// oneDNN's convolutions, for problems that Lockstep's methods refuse.
#pragma once

#include "operators/conv/implementations.h"
#include "operators/kit/simd/isa.h"

namespace lockstep {

std::vector<ConvImplementation> onednn_convolutions();
Candidate onednn_transpose();
// Must be called before oneDNN describes its first primitive.
void limit_onednn(Isa most);

}  // namespace lockstep
