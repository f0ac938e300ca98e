// SPDX-License-Identifier: Apache-2.0
// Tables of numbers that networks compute once and store: a float32 literal is compared with the
// formula.
#pragma once

#include "lockstep/attributes.h"

namespace lockstep {

// 0, 1, 2, .. or 1, 2, 3, ..: at least four numbers.
bool is_counting(const Literal& literal);
// At least four positive numbers with an equal ratio, not 1: frequencies of positions, slopes of
// linear biases.
bool is_geometric(const Literal& literal);
// Positions by columns: each column is a sine or cosine of the position, or the columns of each
// position are sines and cosines of the same angles.
bool is_sine_table(const Literal& literal);

}  // namespace lockstep
