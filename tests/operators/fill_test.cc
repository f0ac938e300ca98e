// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/net.h"
#include "lockstep/operators.h"
#include "operators/fill/fill.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

std::vector<OpCase> fill_cases() {
  float seven = 7;
  Reference sevens = [](const std::vector<Doubles>&) {
    return std::vector<Doubles>{{{2, 3}, std::vector<double>(6, 7)}};
  };
  Reference zeros = [](const std::vector<Doubles>&) {
    return std::vector<Doubles>{{{4}, std::vector<double>(4, 0)}};
  };
  return {{.name = "value",
           .type = "ConstantOfShape",
           .attributes = {{"value", Literal::of<float>({&seven, 1}, {1})}},
           .inputs = {fixed({2, 3})},
           .reference = sevens,
           .gradient = false},
          {.name = "upper",
           .type = "EyeLike",
           .attributes = {{"k", int64_t{1}}},
           .inputs = {random({3, 4})},
           .gradient = false},
          {.name = "default",
           .type = "ConstantOfShape",
           .inputs = {fixed({4})},
           .reference = zeros,
           .gradient = false}};
}

class Fill : public ::testing::TestWithParam<OpCase> {};
TEST_P(Fill, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Fill, ::testing::ValuesIn(fill_cases()));

// The numbers of `initializer` for a tensor of these dimensions.
std::vector<float> drawn(const Initializer& initializer, const Dims& dims, uint64_t seed = 1,
                         int stream = 0, int threads = 1, uint64_t step = 0) {
  Graph graph(all_ops());
  Value y = initializer(graph, dims, stream, "y");
  States none({}, {});
  Workers workers(1, threads);
  auto executor = make_executor(compile({.graph = graph,
                                         .fetches = {graph.name(y)},
                                         .devices = cpu_devices(1),
                                         .kernels = all_kernels(),
                                         .options = {.threads = threads}}),
                                none, workers);
  executor->run({}, {{seed, step}});
  const float* values = executor->fetches()[0].as<float>();
  return {values, values + element_count(dims)};
}

struct Moments {
  double mean = 0, deviation = 0, low = INFINITY, high = -INFINITY;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  for (float x : values) {
    m.mean += x / static_cast<double>(values.size());
    m.low = std::min<double>(m.low, x);
    m.high = std::max<double>(m.high, x);
  }
  for (float x : values) m.deviation += (x - m.mean) * (x - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  return m;
}

TEST(RandomFill, HasTheMomentsAskedFor) {
  Moments normal = moments(drawn(gaussian(0.5F, 2), {200, 300}));
  EXPECT_NEAR(normal.mean, 2, 0.01);
  EXPECT_NEAR(normal.deviation, 0.5, 0.01);
  Moments flat = moments(drawn(uniform(-1, 3), {200, 300}));
  EXPECT_NEAR(flat.mean, 1, 0.02);
  EXPECT_NEAR(flat.deviation, 4 / std::sqrt(12), 0.02);
  EXPECT_GT(flat.low, -1);
  EXPECT_LT(flat.high, 3);
}

TEST(RandomFill, MsraAndXavierFollowTheFan) {
  // [outputs, inputs, kernel..]: fan_out 64 * 9, fan_in 32 * 9.
  EXPECT_NEAR(moments(drawn(msra(), {64, 32, 3, 3})).deviation, std::sqrt(2.0 / (64 * 9)), 1e-3);
  Moments x = moments(drawn(xavier(), {64, 32, 3, 3}));
  double bound = std::sqrt(3.0 / (32 * 9));
  EXPECT_NEAR(x.high, bound, 1e-3);
  EXPECT_NEAR(x.low, -bound, 1e-3);
  expect_error([] { drawn(msra(), {5}); }, "2 or more dimensions", "[5]");
}

TEST(RandomFill, DependsOnSeedStreamAndStepOnly) {
  auto values = drawn(gaussian(1), {1001});
  EXPECT_EQ(values, drawn(gaussian(1), {1001}, 1, 0, 2));
  EXPECT_NE(values, drawn(gaussian(1), {1001}, 2));
  EXPECT_NE(values, drawn(gaussian(1), {1001}, 1, 1));
  EXPECT_NE(values, drawn(gaussian(1), {1001}, 1, 0, 1, 1));
  auto longer = drawn(gaussian(1), {2000});
  longer.resize(1001);
  EXPECT_EQ(values, longer) << "a number depends on its position alone";
}

}  // namespace
}  // namespace lockstep::testing
