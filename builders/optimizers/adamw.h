// SPDX-License-Identifier: Apache-2.0
// AdamW, as in torch.optim.AdamW: operators/optimizer/adamw.h. The decay is that of the parameter's
// class (builders/step/param_rules.h).
#pragma once

#include "builders/optimizers/adam.h"
#include "operators/optimizer/adamw.h"

namespace lockstep {

struct AdamW {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;

  operator Optimizer() const {  // NOLINT: it is one
    return adam_optimizer("AdamW", AdamWRule{{beta1, beta2, epsilon}});
  }
};

}  // namespace lockstep
