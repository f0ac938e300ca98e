// SPDX-License-Identifier: Apache-2.0
// Factors of learning rates and decays by parameters' names. Every optimiser's run with a factor of
// the rate equals a run with the scaled rate; the updates stay one launch for each rate.
#include <gtest/gtest.h>

#include <algorithm>

#include "builders/step/param_rules.h"
#include "lockstep/optimizers.h"
#include "tests/builders/known_gradients.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

const KnownParameters kBodyAndHead{{"body_w", StateKind::weight, 0.5F, 2, 0.25F},
                                   {"body_b", StateKind::bias, -0.25F, 3, 0.25F},
                                   {"head_w", StateKind::weight, 1.5F, -1, 0.125F},
                                   {"head_s", StateKind::norm, 0.75F, -2, 0.5F}};

const std::vector<Optimizer> kAll{MomentumSgd{}, Nesterov{}, Adam{}, AdamW{}, RmsProp{},
                                  Adagrad{},     Lars{},     Lamb{}, Lion{}};

ParamRules rules_with(std::vector<PatternFactor> rates, std::vector<PatternFactor> decays = {}) {
  ParamRules rules = kKnownRules;
  rules.rates = std::move(rates);
  rules.decays = std::move(decays);
  return rules;
}

std::vector<float> trained(const Optimizer& optimizer, const ParamRules& rules, const char* name,
                           bool queued = false) {
  KnownRun run(kBodyAndHead, optimizer, 2, queued, {}, rules);
  for (int64_t step = 0; step < 10; ++step) run.step(step, step % 3 == 1 ? -2 : 1);
  return run.of(name, 1);
}

// Each parameter's gradients are independent of the other parameters, so one run with several rates
// has the values of several runs with one rate.
TEST(FactorsByName, AreFactorsOfTheRate) {
  for (const Optimizer& optimizer : kAll)
    for (bool queued : {false, true}) {
      const ParamRules mixed = rules_with({{"*", 0.5F}, {"head_?", 0.125F}, {"head_s", 0}});
      EXPECT_EQ(trained(optimizer, mixed, "body_w", queued),
                trained(optimizer, rules_with({{"*", 0.5F}}), "body_w", queued));
      EXPECT_EQ(trained(optimizer, mixed, "head_w", queued),
                trained(optimizer, rules_with({{"*", 0.125F}}), "head_w", queued));
      EXPECT_NE(trained(optimizer, mixed, "head_w", queued),
                trained(optimizer, rules_with({}), "head_w", queued));
      EXPECT_EQ(trained(optimizer, mixed, "head_s", queued), kBodyAndHead[3].elements(0.75F));
    }
}

TEST(FactorsByName, OfDecaysMultiplyTheDecayOfTheClass) {
  ParamRules halved = kKnownRules, none_of = kKnownRules;
  halved.weight_decay /= 2;
  none_of.weight_decay_norm = 0;
  for (const Optimizer& optimizer : kAll) {
    const ParamRules mixed = rules_with({}, {{"*_w", 7}, {"body_*", 0.5F}, {"*_s", 0}});
    EXPECT_EQ(trained(optimizer, mixed, "body_w"), trained(optimizer, halved, "body_w"));
    EXPECT_EQ(trained(optimizer, mixed, "body_b"), trained(optimizer, kKnownRules, "body_b"));
    EXPECT_EQ(trained(optimizer, mixed, "head_s"), trained(optimizer, none_of, "head_s"));
    EXPECT_NE(trained(optimizer, mixed, "head_w"), trained(optimizer, kKnownRules, "head_w"));
  }
}

TEST(FactorsByName, ShareALaunchForEachRate) {
  KnownRun run(kBodyAndHead, Adam{}, 1, true, {}, rules_with({{"head_*", 0.5F}}));
  run.step(0, 1);
  const Graph& step = run.model().step;
  int rates = 0;
  for (int i = 0; i < step.node_count(); ++i)
    rates += step.node(i).type() == "Scale" &&
             step.name(step.node(i).outputs()[0]).find("lr_") != std::string::npos;
  EXPECT_EQ(rates, 1) << "one rate for both parameters of the head";
}

TEST(FactorsByName, RefuseWhatFitsNoParameter) {
  const auto build = [](const ParamRules& rules) {
    KnownRun(kBodyAndHead, Adam{}, 1, false, {}, rules);
  };
  expect_error(
      [&] {
        build(rules_with({{"tail_*", 0.5F}}));
      },
      "learning rates by name (SOLVER.RATES)", "tail_*");
  expect_error(
      [&] {
        build(rules_with({}, {{"*_x", 0}}));
      },
      "weight decays by name (SOLVER.DECAYS)", "*_x");
  expect_error(
      [&] {
        build(rules_with({{"*", -1}}));
      },
      "the factor of '*' (SOLVER.RATES) is -1, should be 0 or more");
}

}  // namespace
}  // namespace lockstep::testing
