// SPDX-License-Identifier: Apache-2.0
// Activations of vectors. They are compiled by themselves: inlined, each call would bring along all
// formulas.
#pragma once

#include "operators/rnn/activations.h"

namespace lockstep {

void activate(const RecurrentActivation& f, const float* x, float* y, int64_t count);
// The slopes, too. That of a clipped argument is 0.
void activate(const RecurrentActivation& f, const float* x, float* y, float* slopes, int64_t count);

}  // namespace lockstep
