// SPDX-License-Identifier: Apache-2.0
// Loss scaling: small gradients underflow in float16, so the loss is multiplied by a power of two,
// and gradients are divided by it once they are float32 again. The factor adapts: a step with
// non-finite gradients changes nothing and halves it, many finite steps double it.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

struct LossScaling {
  float first = 65536;
  float most = 16777216;
  int growth_steps = 2000;  // number of finite steps that doubles it
};

struct LossScale {
  Value scale, inverse;
  Value sound_steps;  // since the factor last changed
};

// Reads the two states.
LossScale add_loss_scale(Graph& step);
// d(scale * loss) / d(loss), of the loss's shape.
Value seed_of(Graph& step, const LossScale& scale, Value loss);
// The unscaled gradient, which takes over its name.
Value unscaled(Graph& step, const LossScale& scale, Value gradient);

// The states' values after the step: `skipped` is not negative if gradients were not finite.
std::vector<Binding> update_loss_scale(Graph& step, const LossScale& scale, Value skipped,
                                       const LossScaling& options);
void add_loss_scale_states(TrainingModel& one, const LossScaling& options, int replicas);

}  // namespace lockstep
