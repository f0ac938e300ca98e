// SPDX-License-Identifier: Apache-2.0
// Nesterov momentum SGD: v' = momentum * v + rate * gradient, and param -= (1 + momentum) * v' -
// momentum * v.
#pragma once

#include "builders/optimizers/momentum_sgd.h"

namespace lockstep {

struct Nesterov {
  float momentum = 0.9F;
  bool correct_momentum = false;

  operator Optimizer() const {  // NOLINT: it is one
    return momentum_optimizer({momentum, true}, correct_momentum);
  }
};

}  // namespace lockstep
