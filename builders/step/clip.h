// SPDX-License-Identifier: Apache-2.0
// Gradient clipping, by nodes of the graph.
#pragma once

#include <vector>

#include "lockstep/data_parallel.h"

namespace lockstep {

// Clips the gradients of one replica by value, then each by its norm, then by the norm of all; none
// stays none. `share`: the factor already applied to these gradients (a replica's share of the
// loss, before the sum), a scalar, or none; limits are scaled by it. `keep_non_finite`: a clipped
// infinity becomes NaN, so that it is still found.
std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, Value share,
                                  bool keep_non_finite);

}  // namespace lockstep
