// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/rmsprop.h"
#include "builders/optimizers/by_rule.h"

namespace lockstep {

RmsProp::operator Optimizer() const {
  check_share("RMSProp's alpha", alpha);
  check_share("RMSProp's momentum", momentum);
  check_positive("RMSProp's epsilon", epsilon);
  if (centred) return optimizer_by(RmsPropRule<true>{alpha, momentum, epsilon});
  return optimizer_by(RmsPropRule<false>{alpha, momentum, epsilon});
}

}  // namespace lockstep
