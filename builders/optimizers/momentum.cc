// SPDX-License-Identifier: Apache-2.0
#include "builders/optimizers/by_rule.h"

namespace lockstep {

Optimizer momentum_optimizer(const MomentumRule& rule, bool correct_momentum) {
  check_share("the momentum", rule.momentum);
  Optimizer optimizer = optimizer_by(rule);
  if (correct_momentum) optimizer.feeds.push_back({Role::correction, "momentum_correction"});
  return optimizer;
}

MomentumSgd::operator Optimizer() const {
  return momentum_optimizer({momentum, false}, correct_momentum);
}

Nesterov::operator Optimizer() const {
  return momentum_optimizer({momentum, true}, correct_momentum);
}

}  // namespace lockstep
