// Loss scaling: small gradients are zero in float16, so the loss is multiplied by a power of two
// and gradients are divided by it as soon as they are float32 again. The factor follows the run: a
// step whose gradients are not finite changes nothing and halves it, many sound ones double it.
#pragma once

#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

struct LossScaling {
  float first = 65536;
  float most = 16777216;
  int growth_steps = 2000;  // so many sound steps double it
};

struct LossScale {
  Value scale, inverse;
  Value sound_steps;  // since the factor last changed
};

// Reads the two states.
LossScale add_loss_scale(Graph& step);
// d(scale * loss) / d(loss), of the loss's shape.
Value seed_of(Graph& step, const LossScale& scale, Value loss);
// Takes the gradient's name over.
Value unscaled(Graph& step, const LossScale& scale, Value gradient);

// What the states become after the step: `skipped` is not negative when gradients were not finite.
std::vector<Binding> update_loss_scale(Graph& step, const LossScale& scale, Value skipped,
                                       const LossScaling& options);
void add_loss_scale_states(TrainingModel& one, const LossScaling& options, int replicas);

}  // namespace lockstep
