// Gradients that are too large are made smaller, by nodes of the graph.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

struct ClipOptions {
  float norm = 0;       // the norm of all gradients together is at most this; 0: not clipped
  float each_norm = 0;  // the norm of every gradient by itself; 0: not clipped
  float value = 0;      // every element lies within +-this; 0: not clipped
  // false: what every replica applies to the sum. true: what each replica applies to the gradient
  // of its own share of the batch before the sum, so that one bad share cannot outweigh the others.
  bool before_reduce = false;

  bool active() const { return norm > 0 || each_norm > 0 || value > 0; }
};

// The gradients of one replica, clipped by value, then each by its norm, then by the norm of all;
// none stays none. `share` is what these gradients were multiplied by beforehand (a replica's share
// of the loss, before the sum), a scalar, or none: limits mean the same in both places.
// `keep_non_finite`: an infinity that is clipped becomes NaN, so that it is still found.
std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, Value share,
                                  bool keep_non_finite);

}  // namespace lockstep
