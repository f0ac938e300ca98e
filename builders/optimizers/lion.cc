// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/lion.h"
#include "builders/optimizers/by_rule.h"

namespace lockstep {

Lion::operator Optimizer() const {
  check_share("Lion's beta1", beta1);
  check_share("Lion's beta2", beta2);
  return optimizer_by(LionRule{beta1, beta2});
}

}  // namespace lockstep
