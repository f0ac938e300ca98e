// SPDX-License-Identifier: Apache-2.0
// The clipped policy-gradient loss: compared with numbers computed by hand, and gradients with
// finite differences.
#include "lockstep/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr PolicyLoss kOptions{.clip = 0.2F, .value_weight = 0.25F, .entropy_weight = 0.5F};

// The parameters are the scores and the value, for four rows of three actions.
constexpr int64_t kRows = 4, kActions = 3;
const std::vector<float> kScores{0.5F, -0.25F, 1, 0, 0, 0, 2, 1, -1, 0.25F, 0.75F, -0.5F};
const std::vector<float> kValues{1, -2, 0.5F, 3};
const std::vector<int64_t> kTaken{0, 2, 1, 1};
const std::vector<float> kAdvantages{1, 2, -1.5F, -0.5F}, kTargets{2, -2, 0, 1};

double log_probability(const std::vector<float>& scores, int64_t row, int64_t action) {
  double sum = 0;
  for (int64_t a = 0; a < kActions; ++a)
    sum += std::exp(static_cast<double>(scores[static_cast<std::size_t>(row * kActions + a)]));
  return static_cast<double>(scores[static_cast<std::size_t>(row * kActions + action)]) -
         std::log(sum);
}

// The log-probabilities at the time of drawing. Rows 0 and 2 have changed little. Row 1 is 1.5
// times as likely and row 3 half as likely, so both are beyond the clip on the side of their
// advantage.
std::vector<float> drawn() {
  std::vector<float> log;
  const double ratios[] = {1.1, 1.5, 0.9, 0.5};
  for (int64_t row = 0; row < kRows; ++row)
    log.push_back(
        static_cast<float>(log_probability(kScores, row, kTaken[static_cast<std::size_t>(row)]) -
                           std::log(ratios[row])));
  return log;
}

struct Numbers {
  double policy = 0, value = 0, entropy = 0;
  double sum() const { return policy + value + entropy; }
};

Numbers by_hand(const std::vector<float>& scores, const std::vector<float>& values) {
  Numbers n;
  const std::vector<float> before = drawn();
  for (int64_t row = 0; row < kRows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const double advantage = static_cast<double>(kAdvantages[r]);
    const double ratio =
        std::exp(log_probability(scores, row, kTaken[r]) - static_cast<double>(before[r]));
    n.policy -= std::min(ratio * advantage, std::clamp(ratio, 0.8, 1.2) * advantage) / kRows;
    const double error = static_cast<double>(values[r]) - static_cast<double>(kTargets[r]);
    n.value += 0.25 * error * error / kRows;
    for (int64_t a = 0; a < kActions; ++a) {
      const double log = log_probability(scores, row, a);
      n.entropy += 0.5 * std::exp(log) * log / kRows;
    }
  }
  return n;
}

void table(Net& net) {
  const Value rows = net.input("observation", {DType::float32, {"N", kRows}});
  const Value scores =
      net.param("scores", {kRows, kActions}, given(Literal::of<float>(kScores, {kRows, kActions})));
  const Value values =
      net.param("expected", {kRows, 1}, given(Literal::of<float>(kValues, {kRows, 1})));
  choose_actions(net, gemm(net.graph, rows, scores, none, {}, "of_rows"),
                 gemm(net.graph, rows, values, none, {}, "values_of_rows"), kOptions);
}

// A step with every row once, on this number of replicas.
struct TableRun {
  explicit TableRun(int replicas)
      : model(build_data_parallel_model(
            all_ops(), table, MomentumSgd{.momentum = 0},
            {.replicas = replicas, .scope = "cpu", .rules = {.weight_decay = 0}})),
        session(model, parse_devices(join("cpu*", replicas)), all_kernels(), {}),
        feeds(model),
        before(drawn()) {
    session.initialise();
    for (std::size_t row = 0; row < kRows; ++row) identity[row * kRows + row] = 1;
    feeds.set("observation", {{DType::float32, {kRows, kRows}}, identity.data()});
    feeds.set("action", {{DType::int64, {kRows}}, const_cast<int64_t*>(kTaken.data())});
    feeds.set("log_probability", {{DType::float32, {kRows}}, before.data()});
    feeds.set("advantage", {{DType::float32, {kRows}}, const_cast<float*>(kAdvantages.data())});
    feeds.set("target", {{DType::float32, {kRows}}, const_cast<float*>(kTargets.data())});
    feeds.set(Role::rate, 1);
  }
  TrainingModel model;
  Session session;
  Feeds feeds;
  std::vector<float> before, identity = std::vector<float>(kRows * kRows);
};

TEST(PolicyLoss, IsWhatItsFormulaSays) {
  for (int replicas : {1, 2}) {
    TableRun run(replicas);
    const Numbers expected = by_hand(kScores, kValues);
    const Results answers = run.session.run_step(run.feeds, 0);
    EXPECT_NEAR(answers.loss("policy_loss"), expected.policy, 1e-6);
    EXPECT_NEAR(answers.loss("value_loss"), expected.value, 1e-6);
    EXPECT_NEAR(answers.loss("entropy_loss"), expected.entropy, 1e-6);
    EXPECT_NEAR(answers.metric("entropy"), -2 * expected.entropy, 1e-6);
    EXPECT_EQ(answers.metric("clipped"), 0.5F);
    const double divergence = (1.1 + 1.5 + 0.9 + 0.5) / 4 - 1 - std::log(1.1 * 1.5 * 0.9 * 0.5) / 4;
    EXPECT_NEAR(answers.metric("divergence"), divergence, 1e-6);
  }
}

// Plain SGD at rate 1 moves each parameter by its gradient.
TEST(PolicyLoss, HasTheGradientsOfItsDifferences) {
  TableRun run(2);
  run.session.run_step(run.feeds, 0);
  const StateValues after = run.session.save();
  constexpr float kEps = 1.0F / 512;
  const auto difference = [&](std::size_t i, bool of_scores) {
    std::vector<float> scores = kScores, values = kValues;
    float& moved = of_scores ? scores[i] : values[i];
    const float middle = moved;
    moved = middle + kEps;
    const double above = by_hand(scores, values).sum();
    moved = middle - kEps;
    return (above - by_hand(scores, values).sum()) / (2 * static_cast<double>(kEps));
  };
  const auto scores = after.at("cpu_0/scores").values<float>();
  for (std::size_t i = 0; i < kScores.size(); ++i)
    EXPECT_NEAR(kScores[i] - scores[i], difference(i, true), 2e-5) << "score " << i;
  const auto values = after.at("cpu_0/expected").values<float>();
  for (std::size_t i = 0; i < kValues.size(); ++i)
    EXPECT_NEAR(kValues[i] - values[i], difference(i, false), 2e-5) << "value " << i;
}

// Rows beyond the clip on the side of their advantage have no gradient.
TEST(PolicyLoss, IsBlindToWhatHasMovedFarEnough) {
  const auto pull = [](std::size_t row) {
    std::vector<float> scores = kScores;
    scores[row * kActions] += 0.01F;
    return std::abs(by_hand(scores, kValues).policy - by_hand(kScores, kValues).policy);
  };
  EXPECT_GT(pull(0), 1e-4);
  EXPECT_EQ(pull(1), 0);
  EXPECT_GT(pull(2), 1e-4);
  EXPECT_EQ(pull(3), 0);
}

TEST(PolicyLoss, PredictionGivesLogarithmsAndValues) {
  TableRun run(1);
  Program& predict = run.session.inference();
  const Tensor rows{{DType::float32, {kRows, kRows}}, run.identity.data()};
  const auto fetched = predict.run({&rows, 1}, run.session.run_options(0));
  ASSERT_EQ(predict.fetches(), (std::vector<std::string>{"log_probabilities", "values"}));
  EXPECT_NEAR(fetched[0].as<float>()[4], std::log(1 / 3.0), 1e-6);
  EXPECT_EQ(fetched[1].desc.dims, (Dims{kRows}));
  EXPECT_EQ(fetched[1].as<float>()[3], 3);
}

TEST(PolicyLoss, WhatIsNoPolicyIsNamed) {
  const auto with = [](const Shape& scores, const Shape& values, const PolicyLoss& options) {
    return [=] {
      build_data_parallel_model(
          all_ops(),
          [&](Net& net) {
            const Value first = net.input("scores", {DType::float32, scores});
            choose_actions(net, first, net.input("values", {DType::float32, values}), options);
          },
          MomentumSgd{}, {});
    };
  };
  expect_error(with({"N", 2}, {"N"}, {}), "policy_loss_test.cc:", "values [N], should have");
  expect_error(with({"N", 2}, {"N", 1}, {.clip = 1.5F}), "a policy's clip is 1.5");
  expect_error(with({"N", 2}, {"N", 1}, {.entropy_weight = -1}),
               "the weight of the entropy loss is -1, should be 0 or more");
}

TEST(ActorCritic, HasAPolicyAndAValueOfItsOwn) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), actor_critic({.observations = 5, .actions = 3}),
                                MomentumSgd{}, {.replicas = 2, .scope = "cpu"});
  for (const char* name :
       {"policy_fc1_w", "policy_fc2_b", "policy_w", "value_fc1_w", "value_fc2_w", "value_b"})
    EXPECT_NE(model.find_state(name), nullptr) << name;
  EXPECT_EQ(model.losses.size(), 3u);
  EXPECT_EQ(model.metrics.size(), 3u);
}

}  // namespace
}  // namespace lockstep::testing
