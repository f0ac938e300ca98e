// SPDX-License-Identifier: Apache-2.0
// Label smoothing and mixed labels: losses and gradients of the definition, -sum(t log p) with the
// soft label t, in double precision.
#include "builders/net/soft_labels.h"

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

// The parameters are the scores, for five rows of three classes.
constexpr std::size_t kRows = 5, kClasses = 3;
const std::vector<float> kScores{0.5F, -0.25F, 1,     0,     0, 0,     2,     1,
                                 -1,   0.25F,  0.75F, -0.5F, 3, -2.5F, 0.125F};
const std::vector<int64_t> kFirst{0, 2, 1, 1, 0}, kSecond{2, 2, 0, 1, 1};
const std::vector<float> kShare{0.5F, 0.25F, 0.125F, 0, 0.375F};  // of the second label

double log_probability(std::size_t row, std::size_t of) {
  double sum = 0;
  for (std::size_t c = 0; c < kClasses; ++c)
    sum += std::exp(static_cast<double>(kScores[row * kClasses + c]));
  return static_cast<double>(kScores[row * kClasses + of]) - std::log(sum);
}

double target(std::size_t row, std::size_t of, const SoftLabels& soft) {
  const double share = soft.mixed ? static_cast<double>(kShare[row]) : 0;
  const double e = static_cast<double>(soft.smoothing);
  const double certain = (1 - share) * (kFirst[row] == static_cast<int64_t>(of)) +
                         share * (kSecond[row] == static_cast<int64_t>(of));
  return (1 - e) * certain + e / static_cast<double>(kClasses);
}

double loss_of(const SoftLabels& soft) {
  double loss = 0;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t c = 0; c < kClasses; ++c)
      loss -= target(row, c, soft) * log_probability(row, c) / static_cast<double>(kRows);
  return loss;
}

void table(Net& net) {
  const Value rows = net.input("data", {DType::float32, {"N", static_cast<int64_t>(kRows)}});
  const Dims dims{kRows, kClasses};
  const Value scores = net.param("scores", dims, given(Literal::of<float>(kScores, dims)));
  classify(net, gemm(net.graph, rows, scores, none, {}, "of_rows"));
}

// A step with every row once. Five rows are unequal shares of two replicas.
struct TableRun {
  TableRun(const SoftLabels& soft, const DataParallelOptions& options)
      : model(build_data_parallel_model(all_ops(), with_soft_labels(table, soft),
                                        MomentumSgd{.momentum = 0}, options)),
        session(model, parse_devices(join("cpu*", options.replicas)), all_kernels(), {}),
        feeds(model) {
    session.initialise();
    const Dims rows{kRows};
    for (std::size_t row = 0; row < kRows; ++row) identity[row * kRows + row] = 1;
    feeds.set("data", {{DType::float32, {kRows, kRows}}, identity.data()});
    feeds.set("label", {{DType::int64, rows}, const_cast<int64_t*>(kFirst.data())});
    if (soft.mixed) {
      feeds.set(kSecondLabel, {{DType::int64, rows}, const_cast<int64_t*>(kSecond.data())});
      feeds.set(kSecondShare, {{DType::float32, rows}, const_cast<float*>(kShare.data())});
    }
    feeds.set(Role::rate, 1);
  }
  TrainingModel model;
  Session session;
  Feeds feeds;
  std::vector<float> identity = std::vector<float>(kRows * kRows);
};

const std::vector<SoftLabels> kKinds{
    {.smoothing = 0.1F}, {.mixed = true}, {.smoothing = 0.3F, .mixed = true}};

DataParallelOptions over(int replicas) {
  return {
      .replicas = replicas, .scope = "cpu", .rules = {.weight_decay = 0}, .weighted = replicas > 1};
}

TEST(SoftLabels, HaveTheLossAndTheGradientOfTheirDefinition) {
  for (const SoftLabels& soft : kKinds)
    for (const int replicas : {1, 2}) {
      TableRun run(soft, over(replicas));
      const Results answers = run.session.run_step(run.feeds, 0);
      EXPECT_NEAR(answers.loss(), loss_of(soft), 1e-6);
      EXPECT_NEAR(answers.loss("loss"), loss_of({}), 1e-6) << "the certain label's";
      EXPECT_NEAR(answers.metric("accuracy"), 2.0 / 5, 1e-6) << "of the first label";
      // Plain SGD at rate 1 moves each parameter by its gradient.
      const StateValues after = run.session.save();
      const auto scores = after.at("cpu_0/scores").values<float>();
      for (std::size_t row = 0; row < kRows; ++row)
        for (std::size_t c = 0; c < kClasses; ++c) {
          const std::size_t i = row * kClasses + c;
          const double slope = (std::exp(log_probability(row, c)) - target(row, c, soft)) / kRows;
          EXPECT_NEAR(kScores[i] - scores[i], slope, 1e-6) << row << ", " << c;
        }
    }
}

TEST(SoftLabels, KeepTheirTypeIn16Bits) {
  for (const SoftLabels& soft : kKinds) {
    DataParallelOptions options = over(1);
    options.precision = DType::bfloat16;
    TableRun run(soft, options);
    EXPECT_NEAR(run.session.run_step(run.feeds, 0).loss(), loss_of(soft), 1e-2);
  }
}

TEST(SoftLabels, AreOfTrainingOnly) {
  TableRun run({.smoothing = 0.1F, .mixed = true}, over(1));
  EXPECT_EQ(run.model.inference.inputs().size(), 2u) << "rows and scores";
  TableRun plain({}, over(1));
  EXPECT_EQ(plain.model.losses.size(), 1u);
  EXPECT_NEAR(plain.session.run_step(plain.feeds, 0).loss(), loss_of({}), 1e-6);
}

TEST(SoftLabels, WhatHasNoCrossEntropyIsNamed) {
  const auto built = [](ModelFn model, const SoftLabels& soft) {
    return [=] {
      build_data_parallel_model(all_ops(), with_soft_labels(model, soft), MomentumSgd{}, {});
    };
  };
  const ModelFn squares = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 2}});
    const Value w = net.param("w", {2}, constant(1));
    net.loss("loss", reduce_mean(net.graph, mul(net.graph, x, w), {}, false));
  };
  expect_error(built(squares, {.smoothing = 0.1F}), "only loss is a cross entropy");
  const ModelFn taken = [](Net& net) {
    const Value x = net.input(kSecondLabel, {DType::float32, {"N", 2}});
    classify(net, mul(net.graph, x, net.param("w", {2}, constant(1)), "scores"));
  };
  expect_error(built(taken, {.mixed = true}), "input 'second_label'", "rename");
  expect_error(built(table, {.smoothing = 1}), "label smoothing is 1");
}

}  // namespace
}  // namespace lockstep::testing
