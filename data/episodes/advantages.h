// SPDX-License-Identifier: Apache-2.0
// Generalised advantages (Schulman et al. 2016): how much better than expected an action turned
// out.
#pragma once

#include <span>

namespace lockstep {

struct AdvantageOptions {
  double discount = 0.99;  // of a reward, for each step that it lies ahead
  double lambda = 0.95;    // 0: looks one step ahead, 1: to the end
};

// One environment's steps in a row.
struct JudgedSteps {
  std::span<const double> rewards;
  std::span<const float> values;  // expected before each step
  // Expected after it: 0 where the episode was over, since nothing follows; of a time limit's last
  // observation the same as of any other, since the task would have gone on.
  std::span<const float> next_values;
  std::span<const bool> ends;  // whether it was its episode's last, for whatever reason
};

void generalised_advantages(const JudgedSteps& steps, const AdvantageOptions& options,
                            std::span<float> advantages);

}  // namespace lockstep
