// SPDX-License-Identifier: Apache-2.0
#include "lockstep/episodes.h"

#include <algorithm>
#include <cmath>

#include "data/episodes/advantages.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr uint64_t kActions = uint64_t{1} << 60;  // first random stream of draws

}  // namespace

Collector::Collector(Environments& environments, Predictor& policy, const CollectorOptions& options)
    : environments_(environments), policy_(policy), options_(options) {
  check(options.steps >= 1, "a rollout has ", options.steps, " steps, should have at least 1");
  rollout_.rows = environments.count() * options.steps;
  const std::size_t rows = rollout_.rows;
  rollout_.observations.resize(rows * environments.kind().observations);
  rollout_.actions.resize(rows);
  for (auto* numbers :
       {&rollout_.log_probabilities, &rollout_.values, &rollout_.advantages, &next_values_})
    numbers->resize(rows);
  drawn_.resize(environments.count());
  rewards_.resize(rows);
  ends_ = std::make_unique<bool[]>(rows);
}

void Collector::draw(int64_t position, const Predicted& predicted) {
  const std::size_t actions = environments_.kind().actions;
  for (std::size_t e = 0; e < drawn_.size(); ++e) {
    const uint64_t stream = kActions + static_cast<uint64_t>(environments_.first()) + e;
    const double drawn =
        uniform_of(philox(options_.seed, stream, static_cast<uint64_t>(position))[0]);
    const auto log_probabilities = predicted.log_probabilities.subspan(e * actions, actions);
    std::size_t action = 0;
    for (double sum = std::exp(static_cast<double>(log_probabilities[0]));
         action + 1 < actions && !(drawn < sum);
         sum += std::exp(static_cast<double>(log_probabilities[action])))
      ++action;
    drawn_[e] = static_cast<int64_t>(action);
  }
}

// Records the rows of step t before the step.
void Collector::take(int64_t t, const Predicted& predicted) {
  const EnvironmentKind& kind = environments_.kind();
  const std::size_t values = kind.observations;
  const std::span<const float> seen = environments_.observations();
  for (int64_t e = 0; e < environments_.count(); ++e) {
    const auto row = at(e, t), from = static_cast<std::size_t>(e);
    std::copy_n(seen.begin() + static_cast<std::ptrdiff_t>(from * values), values,
                rollout_.observations.begin() + static_cast<std::ptrdiff_t>(row * values));
    rollout_.actions[row] = drawn_[from];
    rollout_.log_probabilities[row] =
        predicted.log_probabilities[from * kind.actions + drawn_[from]];
    rollout_.values[row] = predicted.values[from];
    if (t > 0 && !ends_[at(e, t - 1)]) next_values_[at(e, t - 1)] = predicted.values[from];
  }
}

// Records the results of step t. The value of the next observation is usually the prediction of the
// next step. After the last step, or if an episode was cut, the policy predicts the value of the
// reached observation.
void Collector::add_results(int64_t t, std::span<const Environments::Step> results) {
  const bool asks = t + 1 == options_.steps ||
                    std::any_of(results.begin(), results.end(),
                                [](const Environments::Step& step) { return step.cut; });
  std::span<const float> values;
  if (asks) values = policy_.predict(environments_.reached()).values;
  for (std::size_t e = 0; e < results.size(); ++e) {
    const std::size_t row = at(static_cast<int64_t>(e), t);
    rewards_[row] = results[e].reward;
    ends_[row] = results[e].ended();
    next_values_[row] = results[e].over || !asks ? 0 : values[e];
  }
}

const Rollout& Collector::collect(int64_t number) {
  rollout_.episodes.clear();
  for (int64_t t = 0; t < options_.steps; ++t) {
    const Predicted predicted = policy_.predict(environments_.observations());
    draw(number * options_.steps + t, predicted);
    take(t, predicted);
    add_results(t, environments_.step(drawn_));
    rollout_.episodes.insert(rollout_.episodes.end(), environments_.ended().begin(),
                             environments_.ended().end());
  }
  add_advantages();
  return rollout_;
}

void Collector::add_advantages() {
  const std::size_t steps = options_.steps;
  for (int64_t e = 0; e < environments_.count(); ++e) {
    const std::size_t first = at(e, 0);
    const auto of = [&](const auto& numbers) { return std::span(numbers).subspan(first, steps); };
    generalised_advantages({of(rewards_), of(rollout_.values), of(next_values_),
                            std::span<const bool>(ends_.get() + first, steps)},
                           options_.advantages,
                           std::span(rollout_.advantages).subspan(first, steps));
  }
}

}  // namespace lockstep
