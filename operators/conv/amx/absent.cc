// SPDX-License-Identifier: Apache-2.0
// Stub for builds without AMX.
#include "operators/conv/amx/amx.h"

namespace lockstep {

std::vector<ConvImplementation> amx_convolutions() { return {}; }

}  // namespace lockstep
