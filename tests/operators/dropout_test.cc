// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/gradient.h"
#include "lockstep/operators.h"
#include "operators/dropout/dropout.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/op_case.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

CaseInput scalar(float value) { return {Literal::scalar(value), false, true, false}; }
CaseInput flag(bool value) { return {Literal::scalar(value), false, true, false}; }

std::vector<OpCase> dropout_cases() {
  Reference same = elementwise([](const std::vector<double>& x) { return x[0]; });
  Reference first = [same](const std::vector<Doubles>& in) { return same({in[0]}); };
  return {
      {.name = "not_training", .type = "Dropout", .inputs = {random({3, 4})}, .reference = same},
      {.name = "mask", .type = "Dropout", .inputs = {random({3, 4})}, .outputs = 2},
      {.name = "training_mode_false",
       .type = "Dropout",
       .inputs = {random({3, 4}), scalar(0.3F), flag(false)},
       .reference = first},
      {.name = "ratio_0",
       .type = "Dropout",
       .inputs = {random({3, 4}), scalar(0), flag(true)},
       .reference = first},
      // Finite differences hold because every run draws the same mask.
      {.name = "training",
       .type = "Dropout",
       .inputs = {random({5, 7}), scalar(0.4F), flag(true)},
       .oracle = false},
  };
}

class Dropouts : public ::testing::TestWithParam<OpCase> {};
TEST_P(Dropouts, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Dropouts, ::testing::ValuesIn(dropout_cases()));

// Returns y of two nodes on ones, in one run.
std::vector<std::vector<float>> draw(uint64_t seed, uint64_t step, int threads) {
  constexpr int64_t kCount = 40000;
  Graph graph(all_ops(), "draws");
  Value x = graph.input("x", {DType::float32, {kCount}});
  Value first = dropout(graph, x, 0.3F, true, "first");
  Value second = dropout(graph, x, 0.3F, true, "second");
  Value dx =
      add_gradients(graph,
                    {{first, graph.constant("ones", Literal::of<float>(
                                                        std::vector<float>(kCount, 1), {kCount}))}},
                    {x})
          .values[0];
  States store({}, {});
  Workers workers(1, threads);
  auto executor =
      make_executor(compile({.graph = graph,
                             .feeds = {"x"},
                             .feed_dims = {{kCount}},
                             .fetches = {graph.name(first), graph.name(second), graph.name(dx)},
                             .devices = cpu_devices(1),
                             .kernels = all_kernels(),
                             .options = {.threads = threads}}),
                    store, workers);
  Literal ones = Literal::of<float>(std::vector<float>(kCount, 1), {kCount});
  std::vector<Tensor> feeds{view_of(ones)};
  executor->run(feeds, {{seed, step}});
  std::vector<std::vector<float>> results;
  for (const Tensor& tensor : executor->fetches())
    results.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
  return results;
}

TEST(Dropout, KeepsItsShareAndItsMean) {
  auto y = draw(1, 0, 1)[0];
  double kept = 0, mean = 0;
  for (float value : y) kept += value != 0, mean += value;
  // Four standard deviations of a binomial of 40,000.
  EXPECT_NEAR(0.7, kept / 40000, 4 * std::sqrt(0.21 / 40000));
  EXPECT_NEAR(1, mean / 40000, 0.02);
  for (float value : y) EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.7F) < 1e-6F);
}

TEST(Dropout, IsAFunctionOfSeedStepAndNode) {
  const auto first = draw(1, 5, 1);
  EXPECT_EQ(first, draw(1, 5, 1));
  EXPECT_EQ(first, draw(1, 5, usable_threads(3))) << "threads";
  EXPECT_NE(first[0], draw(2, 5, 1)[0]) << "seed";
  EXPECT_NE(first[0], draw(1, 6, 1)[0]) << "step";
  EXPECT_NE(first[0], first[1]) << "node";
  EXPECT_EQ(first[0], first[2]) << "the gradient's mask equals the forward pass's";
}

}  // namespace
}  // namespace lockstep::testing
