// Activations of vectors. They are compiled by themselves: inlined, each call would bring along all
// formulas.
#pragma once

#include "operators/rnn/activations.h"

namespace lockstep {

void activate(const RecurrentActivation& f, const float* x, float* y, int64_t count);
// Of a clipped argument it is 0.
void slopes(const RecurrentActivation& f, const float* x, float* y, int64_t count);

}  // namespace lockstep
