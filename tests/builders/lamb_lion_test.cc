// SPDX-License-Identifier: Apache-2.0
// Compares LAMB and Lion with their formulas in double precision, over classes of parameters,
// factors by name, norms of 0, replicas and kinds of devices.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "builders/step/param_rules.h"
#include "lockstep/optimizers.h"
#include "runtime/state/replica_divergence.h"
#include "tests/builders/known_gradients.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const KnownParameters kKinds{{"w", StateKind::weight, 0.5F, 2, 0.25F},
                             {"small", StateKind::weight, 0.001F, 70, -0.5F},
                             {"zero", StateKind::weight, 0, 1, 0.5F},
                             {"b", StateKind::bias, -0.25F, 3, 0.25F},
                             {"s", StateKind::norm, 1.5F, -1, 0.125F}};
constexpr float kMeans[] = {1, -2, 0.5F, 0.25F};  // of the feeds in steps 0, 1, 2, 3, 4, ..
constexpr int64_t kTaken = 12;

using Numbers = std::vector<double>;

double length(const Numbers& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum);
}

struct Layer {
  bool is_weight;
  Numbers w, m, v, g;
  double rate, decay;
  int64_t number;  // of the update, from 1
};
using Formula = std::function<void(Layer&)>;

Formula lamb(const Lamb& by) {
  return [=](Layer& of) {
    Numbers r(of.w.size());
    for (std::size_t i = 0; i < r.size(); ++i) {
      of.m[i] = by.beta1 * of.m[i] + (1.0 - by.beta1) * of.g[i];
      of.v[i] = by.beta2 * of.v[i] + (1.0 - by.beta2) * of.g[i] * of.g[i];
      const auto t = static_cast<double>(of.number);
      const double first = of.m[i] / (1 - std::pow(double{by.beta1}, t));
      const double second = of.v[i] / (1 - std::pow(double{by.beta2}, t));
      r[i] = first / (std::sqrt(second) + by.epsilon) + of.decay * of.w[i];
    }
    const double size = length(of.w), step = length(r);
    const double ratio = of.is_weight && size > 0 && step > 0 ? size / step : 1;
    for (std::size_t i = 0; i < r.size(); ++i) of.w[i] -= of.rate * ratio * r[i];
  };
}

Formula lion(const Lion& by) {
  return [=](Layer& of) {
    for (std::size_t i = 0; i < of.w.size(); ++i) {
      const double c = by.beta1 * of.m[i] + (1.0 - by.beta1) * of.g[i];
      of.w[i] -= of.rate * ((c > 0) - (c < 0) + of.decay * of.w[i]);
      of.m[i] = by.beta2 * of.m[i] + (1.0 - by.beta2) * of.g[i];
    }
  };
}

Numbers after(const Formula& step, const KnownParameter& of, const ParamRules& rules,
              double rate_factor) {
  const std::vector<float> first = of.elements(of.first), slopes = of.elements(of.slope);
  const Numbers nothing(first.size());
  Layer layer{of.kind == StateKind::weight,
              {first.begin(), first.end()},
              nothing,
              nothing,
              nothing,
              0,
              decay_of(rules, of.kind, of.name),
              0};
  for (int64_t taken = 0; taken < kTaken; ++taken) {
    const double factor = of.kind == StateKind::bias ? rules.bias_rate_factor : 1;
    for (std::size_t i = 0; i < slopes.size(); ++i)
      layer.g[i] = factor * slopes[i] * kMeans[taken % 4];
    layer.rate = rate_factor * known_rate(taken);
    layer.number = taken + 1;
    step(layer);
  }
  return layer.w;
}

struct Case {
  const char* name;
  Optimizer optimizer;
  Formula formula;
};
std::vector<Case> cases() {
  const Lamb by_numbers{.beta1 = 0.75F, .beta2 = 0.875F, .epsilon = 0x1p-10F};
  const Lion quick{.beta1 = 0.5F, .beta2 = 0.75F};
  return {{"LAMB", Lamb{}, lamb({})},
          {"LAMB by numbers", by_numbers, lamb(by_numbers)},
          {"Lion", Lion{}, lion({})},
          {"Lion by numbers", quick, lion(quick)}};
}

TEST(LambAndLion, AreTheirFormulas) {
  ParamRules by_name = kKnownRules;
  by_name.rates = {{"*", 0.5F}, {"s*", 2}, {"small", 0.25F}};
  by_name.decays = {{"w", 0.5F}};
  for (const ParamRules& rules : {kKnownRules, by_name})
    for (const Case& c : cases())
      for (int replicas : {1, 2, 3, 8})
        for (bool queued : {false, true}) {
          SCOPED_TRACE(join(c.name, " on ", replicas, queued ? " queued" : ""));
          KnownRun run(kKinds, c.optimizer, replicas, queued, {}, rules);
          for (int64_t step = 0; step < kTaken; ++step) run.step(step, kMeans[step % 4]);
          for (const KnownParameter& layer : kKinds) {
            const Numbers expected =
                after(c.formula, layer, rules, rate_factor_of(rules, layer.name));
            const std::vector<float> found = run.of(layer.name, replicas - 1);
            for (std::size_t i = 0; i < found.size(); ++i)
              EXPECT_NEAR(found[i], expected[i], 2e-5 * std::max(1.0, std::abs(expected[i])))
                  << layer.name << "[" << i << "]";
          }
          EXPECT_EQ(find_divergence(run.session()), "");
        }
}

TEST(LambAndLion, ASkippedStepLeavesEveryBit) {
  for (const Case& c : cases())
    for (bool queued : {false, true}) {
      KnownRun run(kKinds, c.optimizer, 2, queued, {.skip_non_finite = true});
      run.step(0, 1);
      const StateValues before = run.session().save();
      run.step(1, std::numeric_limits<float>::infinity());
      EXPECT_TRUE(run.session().save() == before) << c.name;
      run.step(2, 1);
      EXPECT_FALSE(run.session().save() == before) << c.name;
    }
}

TEST(LambAndLion, RefuseNumbersThatMakeNoSense) {
  expect_error([] { small_mlp(1, Lamb{.beta1 = 1}); }, "LAMB's beta1 is 1, should be at least 0");
  expect_error([] { small_mlp(1, Lamb{.epsilon = 0}); }, "LAMB's epsilon is 0");
  expect_error([] { small_mlp(1, Lion{.beta2 = -1}); }, "Lion's beta2 is -1, should be");
}

}  // namespace
}  // namespace lockstep::testing
