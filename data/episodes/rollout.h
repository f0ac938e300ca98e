// SPDX-License-Identifier: Apache-2.0
// Rollouts: steps of many environments with the actions that a policy drew, and how good these
// were.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/episodes/advantages.h"
#include "data/episodes/environments.h"
#include "data/episodes/predictor.h"

namespace lockstep {

// Rows: of the first environment all steps, then of the second, ..
struct Rollout {
  int64_t rows = 0;
  std::vector<float> observations;       // [rows, values]
  std::vector<int64_t> actions;          // [rows]
  std::vector<float> log_probabilities;  // of the actions, when they were drawn
  std::vector<float> values;             // expected then
  std::vector<float> advantages;         // as they are: with any mean and size
  std::vector<Episode> episodes;         // that ended, in the order in which they did
};

struct CollectorOptions {
  int64_t steps = 128;  // of each environment in a rollout
  uint64_t seed = 1;
  AdvantageOptions advantages = {};
};

class Collector {
 public:
  // Both must outlive it.
  Collector(Environments& environments, Predictor& policy, const CollectorOptions& options);

  // Goes on where the environments are. Draws depend on the seed, the environment's number and that
  // of its step in the run, `number` * steps on. Valid until the next call.
  const Rollout& collect(int64_t number);

 private:
  void draw(int64_t position, const Predicted& predicted);
  void take(int64_t t, const Predicted& predicted);
  void add_results(int64_t t, std::span<const Environments::Step> results);
  void add_advantages();
  std::size_t at(int64_t environment, int64_t t) const { return environment * options_.steps + t; }

  Environments& environments_;
  Predictor& policy_;
  CollectorOptions options_;
  Rollout rollout_;
  std::vector<int64_t> drawn_;
  std::vector<double> rewards_;     // these three by row
  std::vector<float> next_values_;  // expected after the step
  std::unique_ptr<bool[]> ends_;
};

}  // namespace lockstep
