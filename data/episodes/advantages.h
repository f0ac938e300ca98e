// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation over one environment's steps.
#pragma once

#include <span>

#include "lockstep/episodes.h"

namespace lockstep {

// One environment's consecutive steps.
struct JudgedSteps {
  std::span<const double> rewards;
  std::span<const float> values;  // predicted before each step
  // Predicted after each step. 0 if the episode was over, because nothing follows. Not 0 at a time
  // limit, because the task would have gone on.
  std::span<const float> next_values;
  std::span<const bool> ends;  // true for the last step of an episode, for any reason
};

void generalised_advantages(const JudgedSteps& steps, const AdvantageOptions& options,
                            std::span<float> advantages);

}  // namespace lockstep
