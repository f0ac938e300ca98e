// Gradients that are too large are made smaller, by nodes of the graph.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lockstep {

struct ClipOptions {
  float norm = 0;   // the norm of all gradients together is at most this; 0: not clipped
  float value = 0;  // every element lies within +-this; 0: not clipped
  // false: what every replica applies to the sum. true: what each replica applies to the gradient
  // of its own share of the batch before the sum, so that one bad share cannot outweigh the others.
  bool before_reduce = false;

  bool active() const { return norm > 0 || value > 0; }
};

// The gradients of one replica, clipped by value and then by norm; none stays none. `scale` is what
// these gradients were multiplied by beforehand (1 / replicas before the sum), so limits mean the
// same in both places.
std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, float scale);

}  // namespace lockstep
