// SPDX-License-Identifier: Apache-2.0
// A test of a policy: fresh episodes in which it always takes the action that it finds likeliest.
#pragma once

#include <cstdint>
#include <vector>

#include "data/episodes/environments.h"
#include "data/episodes/predictor.h"

namespace lockstep {

struct GreedyOptions {
  uint64_t seed = 1;
  int64_t first = 0, count = 1;  // the numbers of these episodes among all of the test
};

struct GreedyResult {
  std::vector<Episode> episodes;  // by number
  // The states that the first of them went through, from its beginning on.
  std::vector<std::vector<double>> film;
};

// Every episode in an environment of its own, all at once.
GreedyResult play_greedily(const EnvironmentKind& kind, Predictor& policy,
                           const GreedyOptions& options);

}  // namespace lockstep
