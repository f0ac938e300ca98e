// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/control/control_config.h"
#include "app/predict/scorer.h"

namespace lockstep {

// Scores a policy on fresh episodes. The policy takes the likeliest action.
std::unique_ptr<Scorer> policy_scorer(ControlConfig config);

}  // namespace lockstep
