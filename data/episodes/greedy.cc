// SPDX-License-Identifier: Apache-2.0
#include "lockstep/episodes.h"

#include <algorithm>

namespace lockstep {

GreedyResult play_greedily(const EnvironmentKind& kind, Predictor& policy,
                           const GreedyOptions& options) {
  Environments environments(
      kind,
      {.seed = options.seed, .held_out = true, .first = options.first, .count = options.count});
  const std::size_t count = options.count;
  GreedyResult result;
  result.episodes.resize(count);
  std::vector<bool> done(count);
  std::vector<int64_t> actions(count);
  result.film.push_back(environments.state(options.first));
  // Finished environments continue with further episodes, which are ignored, until all are
  // finished.
  for (std::size_t left = count; left > 0;) {
    const Predicted predicted = policy.predict(environments.observations());
    for (std::size_t e = 0; e < count; ++e) {
      const std::size_t all = kind.actions;
      const auto scores = predicted.log_probabilities.subspan(e * all, all);
      actions[e] = std::max_element(scores.begin(), scores.end()) - scores.begin();
    }
    environments.step(actions);
    for (const Episode& episode : environments.ended()) {
      const std::size_t e = episode.environment - options.first;
      if (done[e]) continue;
      done[e] = true;
      result.episodes[e] = episode;
      --left;
    }
    if (!done[0]) result.film.push_back(environments.state(options.first));
  }
  return result;
}

}  // namespace lockstep
