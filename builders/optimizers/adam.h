// SPDX-License-Identifier: Apache-2.0
// Adam, as in torch.optim.Adam: operators/optimizer/adam.h.
#pragma once

#include <string>

#include "builders/optimizers/by_rule.h"
#include "operators/optimizer/adam.h"

namespace lockstep {

// By Adam's rule or one made from it.
template <class Rule>
Optimizer adam_optimizer(const std::string& name, const Rule& rule) {
  check_share(name + "'s beta1", rule.beta1);
  check_share(name + "'s beta2", rule.beta2);
  check_positive(name + "'s epsilon", rule.epsilon);
  Optimizer optimizer = optimizer_by(rule);
  optimizer.counts = true;
  return optimizer;
}

struct Adam {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;

  operator Optimizer() const {  // NOLINT: it is one
    return adam_optimizer("Adam", AdamRule{beta1, beta2, epsilon});
  }
};

}  // namespace lockstep
