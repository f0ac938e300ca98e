// SPDX-License-Identifier: Apache-2.0
#include "data/episodes/advantages.h"

#include "lockstep/error.h"

namespace lockstep {

void generalised_advantages(const JudgedSteps& steps, const AdvantageOptions& options,
                            std::span<float> advantages) {
  const std::size_t count = steps.rewards.size();
  check(steps.values.size() == count && steps.next_values.size() == count &&
            steps.ends.size() == count && advantages.size() == count,
        "advantages of ", count, " rewards: there are ", steps.values.size(), " values, ",
        steps.next_values.size(), " next values, ", steps.ends.size(), " ends and space for ",
        advantages.size());
  double ahead = 0;
  for (std::size_t t = count; t-- > 0;) {
    const double surprise = steps.rewards[t] +
                            options.discount * static_cast<double>(steps.next_values[t]) -
                            static_cast<double>(steps.values[t]);
    ahead = surprise + (steps.ends[t] ? 0 : options.discount * options.lambda * ahead);
    advantages[t] = static_cast<float>(ahead);
  }
}

}  // namespace lockstep
