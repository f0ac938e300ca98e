// SPDX-License-Identifier: Apache-2.0
// For builds without matrix tiles.
#include "operators/conv/amx/amx.h"

namespace lockstep {

std::vector<ConvImplementation> amx_convolutions() { return {}; }

}  // namespace lockstep
