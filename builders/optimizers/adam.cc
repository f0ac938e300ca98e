// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/adam.h"
#include "builders/optimizers/by_rule.h"
#include "operators/optimizer/adamw.h"

namespace lockstep {

namespace {

// By Adam's rule or a rule made from it.
template <class Rule>
Optimizer adam_optimizer(const std::string& name, const Rule& rule) {
  check_share(name + "'s beta1", rule.beta1);
  check_share(name + "'s beta2", rule.beta2);
  check_positive(name + "'s epsilon", rule.epsilon);
  Optimizer optimizer = optimizer_by(rule);
  optimizer.counts = true;
  return optimizer;
}

}  // namespace

Adam::operator Optimizer() const { return adam_optimizer("Adam", AdamRule{beta1, beta2, epsilon}); }

AdamW::operator Optimizer() const {
  return adam_optimizer("AdamW", AdamWRule{{beta1, beta2, epsilon}});
}

}  // namespace lockstep
