// SPDX-License-Identifier: Apache-2.0
// Gradient clipping, by nodes of the graph.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

struct ClipOptions {
  float norm = 0;       // limit of the norm of all gradients together; 0: not clipped
  float each_norm = 0;  // limit of each gradient's norm; 0: not clipped
  float value = 0;      // limit of each element's magnitude; 0: not clipped
  // false: every replica clips the sum. true: each replica clips the gradients of its own share of
  // the batch before the sum, so that one bad share cannot dominate.
  bool before_reduce = false;

  bool active() const { return norm > 0 || each_norm > 0 || value > 0; }
};

// Clips the gradients of one replica by value, then each by its norm, then by the norm of all; none
// stays none. `share`: the factor already applied to these gradients (a replica's share of the
// loss, before the sum), a scalar, or none; limits are scaled by it. `keep_non_finite`: a clipped
// infinity becomes NaN, so that it is still found.
std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, Value share,
                                  bool keep_non_finite);

}  // namespace lockstep
