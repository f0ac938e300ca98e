// SPDX-License-Identifier: Apache-2.0
// Nodes and states of loss scaling (LossScaling in lockstep/data_parallel.h).
#pragma once

#include <string>
#include <vector>

#include "lockstep/data_parallel.h"

namespace lockstep {

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
