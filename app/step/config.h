// SPDX-License-Identifier: Apache-2.0
// The settings of `lockstep step`: keys as in a CONFIG.yaml, with the defaults of one plain step.
#pragma once

#include "app/config/trained_keys.h"
#include "app/step/request.h"
#include "app/train/settings.h"

namespace lockstep {

// A constant rate unless keys ask for another one, and no weight decay.
struct StepConfig : TrainSettings {
  StepConfig();

  bool has_constant_rate() const;

  TrainedKeys trained;
  bool ends = false;  // SOLVER.MAX_ITER is set: no step comes after it
};
ConfigKeys keys_of(StepConfig& config);

// Throws an error that names the key or the flag.
StepConfig read_step_config(const StepRequest& request);

}  // namespace lockstep
