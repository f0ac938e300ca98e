// SPDX-License-Identifier: Apache-2.0
// Weight decay as part of a gradient.
#pragma once

#include "lockstep/graph.h"

namespace lockstep {

// gradient + decay * param, or the gradient itself without decay.
Value decayed_gradient(Graph& graph, Value param, Value gradient, float decay);

}  // namespace lockstep
