// SPDX-License-Identifier: Apache-2.0
// LARS (You, Gitman and Ginsburg, 2017): momentum SGD, where the step of each weight is
// proportional to its norm:
//   ratio = trust * |w| / (|g| + decay * |w| + epsilon), or 1 where |w| or |g| is 0
//   v' = momentum * v + rate * ratio * (g + decay * w), w -= v'
// Biases and norms have the ratio 1: they start at 0 or are few, and their norms say little.
#pragma once

#include "builders/optimizers/optimizer.h"

namespace lockstep {

struct Lars {
  float momentum = 0.9F, trust = 0.001F;
  float epsilon = 1e-8F;
  bool correct_momentum = false;

  operator Optimizer() const;  // NOLINT: it is one
};

}  // namespace lockstep
