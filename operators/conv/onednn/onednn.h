// SPDX-License-Identifier: Apache-2.0
// oneDNN's convolutions: for what no method of our own takes.
#pragma once

#include "operators/conv/implementations.h"
#include "operators/kit/simd/isa.h"

namespace lockstep {

std::vector<ConvImplementation> onednn_convolutions();
Candidate onednn_transpose();
// Takes effect before oneDNN has described its first primitive.
void limit_onednn(Isa most);

}  // namespace lockstep
