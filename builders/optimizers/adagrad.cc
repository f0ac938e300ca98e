// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/adagrad.h"
#include "builders/optimizers/by_rule.h"

namespace lockstep {

Adagrad::operator Optimizer() const {
  check_not_negative("Adagrad's rate_decay", rate_decay);
  check_not_negative("Adagrad's initial_accumulator", initial_accumulator);
  check_positive("Adagrad's epsilon", epsilon);
  Optimizer optimizer = optimizer_by(AdagradRule{rate_decay, epsilon});
  optimizer.slots[0].first = initial_accumulator;
  optimizer.counts = rate_decay != 0;
  return optimizer;
}

}  // namespace lockstep
