// SPDX-License-Identifier: Apache-2.0
// Compares LARS with its formula in double precision, including ratios with a norm of 0.
#include "lockstep/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/step/param_rules.h"
#include "runtime/state/replica_divergence.h"
#include "tests/builders/known_gradients.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const KnownParameters kLayers{{"w", StateKind::weight, 0.5F, 2, 0.25F},
                              {"small", StateKind::weight, 0.001F, 700, -0.5F},
                              {"zero", StateKind::weight, 0, 1, 0.5F},
                              {"b", StateKind::bias, -0.25F, 3, 0.25F},
                              {"s", StateKind::norm, 1.5F, -1, 0.125F}};
constexpr float kFed[] = {1, -2, 0, 0.25F};  // the mean of steps 0, 1, 2, 3, 4, ..

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum);
}

// The parameter after `steps` steps of the formula.
std::vector<double> by_formula(const KnownParameter& layer, const Lars& lars, int64_t steps) {
  const std::vector<float> first = layer.elements(layer.first),
                           slopes = layer.elements(layer.slope);
  std::vector<double> w(first.begin(), first.end()), v(w.size()), g(w.size());
  const double decay = decay_of(kKnownRules, layer.kind);
  const double factor = layer.kind == StateKind::bias ? kKnownRules.bias_rate_factor : 1;
  for (int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < w.size(); ++i) g[i] = factor * slopes[i] * kFed[step % 4];
    const double size = norm_of(w), slope = norm_of(g);
    const bool adapts = layer.kind == StateKind::weight && size > 0 && slope > 0;
    const double ratio = adapts ? lars.trust * size / (slope + decay * size + lars.epsilon) : 1;
    const double kept = lars.correct_momentum ? known_correction(step) : 1;
    for (std::size_t i = 0; i < w.size(); ++i) {
      v[i] = lars.momentum * kept * v[i] + known_rate(step) * ratio * (g[i] + decay * w[i]);
      w[i] -= v[i];
    }
  }
  return w;
}

TEST(LarsOptimizer, IsItsFormula) {
  for (const Lars& lars : {Lars{.momentum = 0.5F, .trust = 0.125F},
                           Lars{.trust = 0.5F, .epsilon = 0.25F, .correct_momentum = true}})
    for (int replicas : {1, 2, 3, 8})
      for (bool queued : {false, true}) {
        KnownRun run(kLayers, lars, replicas, queued);
        for (int64_t step = 0; step < 20; ++step) run.step(step, kFed[step % 4]);
        for (const KnownParameter& layer : kLayers) {
          const std::vector<double> expected = by_formula(layer, lars, 20);
          const std::vector<float> found = run.of(layer.name, replicas - 1);
          for (std::size_t i = 0; i < found.size(); ++i)
            EXPECT_NEAR(found[i], expected[i], 1e-5 * std::max(1.0, std::abs(expected[i])))
                << layer.name << "[" << i << "] on " << replicas << (queued ? " queued" : "");
        }
        EXPECT_EQ(find_divergence(run.session()), "");
      }
}

// Without decay, a step of a weight has length rate * trust * |w| for any gradient.
TEST(LarsOptimizer, AStepIsAsLongAsTheRatioSays) {
  KnownRun run(kLayers, Lars{.trust = 0.25F}, 2, false, {}, {.weight_decay = 0});
  run.step(0, 3);
  for (const KnownParameter& layer : {kLayers[0], kLayers[1]}) {
    const std::vector<float> before = layer.elements(layer.first);
    const std::vector<float> after = run.of(layer.name, 1);
    std::vector<double> old(before.begin(), before.end()), moved;
    for (std::size_t i = 0; i < old.size(); ++i) moved.push_back(old[i] - after[i]);
    EXPECT_NEAR(norm_of(moved) / norm_of(old), known_rate(0) * 0.25, 1e-5) << layer.name;
  }
}

TEST(LarsOptimizer, ASkippedStepLeavesNoTraceOfItsNorms) {
  KnownRun run(kLayers, Lars{}, 2, false, {.skip_non_finite = true});
  run.step(0, 1);
  const StateValues before = run.session().save();
  run.step(1, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(run.session().save() == before);
  run.step(2, 1);
  for (float value : run.of("w", 1)) EXPECT_TRUE(std::isfinite(value));
}

TEST(LarsOptimizer, RefusesNumbersThatMakeNoRatio) {
  expect_error([] { small_mlp(1, Lars{.momentum = 1}); }, "the momentum is 1, should be");
  expect_error([] { small_mlp(1, Lars{.trust = 0}); },
               "LARS's trust is 0, should be finite and above 0");
  expect_error([] { small_mlp(1, Lars{.epsilon = -1}); }, "LARS's epsilon is -1");
}

}  // namespace
}  // namespace lockstep::testing
