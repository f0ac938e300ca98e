// SPDX-License-Identifier: Apache-2.0
// Activations of vectors. They are compiled in a separate file: inlined, each call would contain
// all formulas.
#pragma once

#include "operators/rnn/activations.h"

namespace lockstep {

void activate(const RecurrentActivation& f, const float* x, float* y, int64_t count);
// Computes the activations and their slopes. The slope of a clipped argument is 0.
void activate(const RecurrentActivation& f, const float* x, float* y, float* slopes, int64_t count);

}  // namespace lockstep
