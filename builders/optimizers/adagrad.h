// SPDX-License-Identifier: Apache-2.0
// Adagrad, as in torch.optim.Adagrad: operators/optimizer/adagrad.h.
#pragma once

#include "builders/optimizers/by_rule.h"
#include "operators/optimizer/adagrad.h"

namespace lockstep {

struct Adagrad {
  float rate_decay = 0;           // PyTorch's lr_decay
  float initial_accumulator = 0;  // first value of the sums of squares
  float epsilon = 1e-8F;

  operator Optimizer() const {  // NOLINT: it is one
    check_not_negative("Adagrad's rate_decay", rate_decay);
    check_not_negative("Adagrad's initial_accumulator", initial_accumulator);
    check_positive("Adagrad's epsilon", epsilon);
    Optimizer optimizer = optimizer_by(AdagradRule{rate_decay, epsilon});
    optimizer.slots[0].first = initial_accumulator;
    optimizer.counts = rate_decay != 0;
    return optimizer;
  }
};

}  // namespace lockstep
