// SPDX-License-Identifier: Apache-2.0
// Momentum SGD: v = momentum * v + rate * gradient, param -= v.
#pragma once

#include "builders/optimizers/by_rule.h"
#include "operators/optimizer/momentum.h"

namespace lockstep {

// The momentum includes the rate. If the rate jumps, the momentum is scaled with it: replicas are
// fed `momentum_correction` (builders/optimizers/lr_schedule.h), which multiplies the old momentum.
inline Optimizer momentum_optimizer(const MomentumRule& rule, bool correct_momentum) {
  check_share("the momentum", rule.momentum);
  Optimizer optimizer = optimizer_by(rule);
  if (correct_momentum) optimizer.feeds.push_back({Role::correction, "momentum_correction"});
  return optimizer;
}

struct MomentumSgd {
  float momentum = 0.9F;
  bool correct_momentum = false;

  operator Optimizer() const {  // NOLINT: it is one
    return momentum_optimizer({momentum, false}, correct_momentum);
  }
};

}  // namespace lockstep
