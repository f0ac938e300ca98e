// SPDX-License-Identifier: Apache-2.0
// RMSProp, as in torch.optim.RMSprop: operators/optimizer/rmsprop.h. Its momentum does not include
// the rate, so nothing is corrected when the rate jumps.
#pragma once

#include "builders/optimizers/by_rule.h"
#include "operators/optimizer/rmsprop.h"

namespace lockstep {

struct RmsProp {
  float alpha = 0.99F, momentum = 0;
  float epsilon = 1e-8F;
  bool centred = false;

  operator Optimizer() const {  // NOLINT: it is one
    check_share("RMSProp's alpha", alpha);
    check_share("RMSProp's momentum", momentum);
    check_positive("RMSProp's epsilon", epsilon);
    if (centred) return optimizer_by(RmsPropRule<true>{alpha, momentum, epsilon});
    return optimizer_by(RmsPropRule<false>{alpha, momentum, epsilon});
  }
};

}  // namespace lockstep
