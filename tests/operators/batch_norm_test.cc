// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/op.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "tests/support/any_threads.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr float kLow = -0.375F, kHigh = 0.625F;

// Calls visit(element, channel).
template <class Visit>
void each(const Dims& dims, const Visit& visit) {
  const int64_t plane = element_count(dims) / (dims[0] * dims[1]);
  for (int64_t i = 0; i < element_count(dims); ++i) visit(i, i / plane % dims[1]);
}

std::vector<Doubles> given_statistics(const std::vector<Doubles>& in) {
  Doubles y = in[0];
  each(y.dims, [&](int64_t i, int64_t c) {
    y[i] = in[1][c] * (in[0][i] - in[3][c]) / std::sqrt(in[4][c] + kEpsilon) + in[2][c];
  });
  return {y};
}

// y, the new running mean and variance, and the mean and variance of the batch.
Reference of_batch(double momentum) {
  return [momentum](const std::vector<Doubles>& in) {
    const Doubles& x = in[0];
    const double count = static_cast<double>(element_count(x.dims) / x.dims[1]);
    Doubles mean{in[3].dims, std::vector<double>(x.dims[1], 0)}, variance = mean;
    each(x.dims, [&](int64_t i, int64_t c) { mean[c] += x[i] / count; });
    each(x.dims,
         [&](int64_t i, int64_t c) { variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / count; });
    std::vector<Doubles> out{given_statistics({x, in[1], in[2], mean, variance})[0], in[3], in[4],
                             mean, variance};
    for (int64_t c = 0; c < x.dims[1]; ++c) {
      out[1][c] = momentum * in[3][c] + (1 - momentum) * mean[c];
      out[2][c] = momentum * in[4][c] + (1 - momentum) * variance[c];
    }
    return out;
  };
}

CaseInput running(const Dims& dims, int seed) {
  CaseInput input = positive(dims, seed);
  input.differentiable = false;
  return input;
}

std::vector<CaseInput> operands(const Dims& x) {
  const Dims c{x[1]};
  return {random(x), random(c, 2), random(c, 3), running(c, 4), running(c, 5)};
}

// The form in a plan: adds z, then replaces negative values by 0.
OpCase with_relu(const Dims& dims, bool added) {
  OpCase c{.name = join("relu", added ? "_of_sum_" : "_", dims[1]),
           .type = "BatchNormTrain",
           .domain = kOwnDomain,
           .attributes = {{"momentum", 0.8F}, {"relu", int64_t{1}}},
           .inputs = operands(dims),
           .outputs = 5,
           .gradient = false};
  if (added) c.inputs.push_back(random(dims, 6));
  c.reference = [added](const std::vector<Doubles>& in) {
    std::vector<Doubles> out = of_batch(0.8)(in);
    for (std::size_t i = 0; i < out[0].values.size(); ++i)
      out[0].values[i] = std::max(0.0, out[0].values[i] + (added ? in[5].values[i] : 0));
    return out;
  };
  return c;
}

// The form in a plan: limited to low .. high.
OpCase with_clip(const Dims& dims) {
  OpCase c = with_relu(dims, false);
  c.name = join("clip_", dims[1]);
  c.attributes = {{"momentum", 0.8F}, {"low", kLow}, {"high", kHigh}};
  c.reference = [](const std::vector<Doubles>& in) {
    std::vector<Doubles> out = of_batch(0.8)(in);
    for (double& y : out[0].values) y = std::clamp<double>(y, kLow, kHigh);
    return out;
  };
  return c;
}

// A prediction's batch norm, in the form of a plan.
OpCase given_fused(const Dims& dims, bool added, bool clipped) {
  OpCase c{.name = join(clipped ? "clip_"
                        : added ? "relu_of_sum_"
                                : "relu_",
                        dims[1]),
           .type = "FusedBatchNorm",
           .domain = kOwnDomain,
           .attributes = {{"relu", int64_t{1}}},
           .inputs = operands(dims),
           .gradient = false};
  if (clipped) c.attributes = {{"low", kLow}, {"high", kHigh}};
  if (added) c.inputs.push_back(random(dims, 6));
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out = given_statistics(in);
    for (std::size_t i = 0; i < out[0].values.size(); ++i) {
      double& y = out[0].values[i];
      if (added) y += in[5].values[i];
      y = clipped ? std::clamp<double>(y, kLow, kHigh) : std::max(0.0, y);
    }
    return out;
  };
  return c;
}

// The producer of x provides the sums.
OpCase with_sums(const Dims& dims) {
  OpCase c = with_relu(dims, true);
  c.name = join("sums_", dims[1]);
  const Doubles x = to_doubles(c.inputs[0].value);
  std::vector<float> sums(static_cast<std::size_t>(dims[1])), squares = sums;
  each(dims, [&](int64_t i, int64_t channel) {
    sums[channel] += static_cast<float>(x[i]);
    squares[channel] += static_cast<float>(x[i] * x[i]);
  });
  for (const auto& known : {sums, squares})
    c.inputs.push_back(given(Literal::of<float>(known, {dims[1]})));
  return c;
}

// dx, dscale and dbias by the definition, from dy where `passes(y)`. The last output is the masked
// dy.
template <class Passes>
std::vector<Doubles> masked_gradient(const std::vector<Doubles>& in, const Doubles& y,
                                     const Passes& passes) {
  const Doubles &dy = in[0], &x = in[1];
  const int64_t channels = x.dims[1];
  const double count = static_cast<double>(element_count(x.dims) / channels);
  Doubles dz = dy, dx = dy, dscale{in[2].dims, std::vector<double>(channels, 0)}, dbias = dscale;
  auto along = [&](int64_t i, int64_t c) {
    return (x[i] - in[3][c]) / std::sqrt(in[4][c] + kEpsilon);
  };
  each(x.dims, [&](int64_t i, int64_t c) {
    if (!passes(y[i])) dz[i] = 0;
    dbias[c] += dz[i];
    dscale[c] += dz[i] * along(i, c);
  });
  each(x.dims, [&](int64_t i, int64_t c) {
    dx[i] = in[2][c] / std::sqrt(in[4][c] + kEpsilon) *
            (dz[i] - dbias[c] / count - along(i, c) * dscale[c] / count);
  });
  return {dx, dscale, dbias, dz};
}

OpCase with_relu_grad(const Dims& dims, bool added) {
  OpCase forward = with_relu(dims, added);
  std::vector<Doubles> in;
  for (const CaseInput& input : forward.inputs) in.push_back(to_doubles(input.value));
  const std::vector<Doubles> out = forward.reference(in);
  auto fed = [](const Doubles& values) { return given(of_doubles(values.values, values.dims)); };
  return {.name = join("relu", added ? "_of_sum_" : "_", dims[1]),
          .type = "BatchNormGrad",
          .domain = kOwnDomain,
          .attributes = {{"relu", int64_t{1}}, {"added", int64_t{added}}},
          .inputs = {random(dims, 7), forward.inputs[0], forward.inputs[1], fed(out[3]),
                     fed(out[4]), forward.inputs[2], fed(out[0])},
          .outputs = 4,
          .reference =
              [](const std::vector<Doubles>& in) {
                return masked_gradient(in, in[6], [](double y) { return y > 0; });
              },
          .gradient = false};
}

OpCase with_clip_grad(const Dims& dims) {
  OpCase c = with_relu_grad(dims, false);
  c.name = join("clip_", dims[1]);
  c.attributes = {{"low", kLow}, {"high", kHigh}};
  c.inputs.pop_back();  // without y: x is enough
  c.reference = [](const std::vector<Doubles>& in) {
    const Doubles y = given_statistics({in[1], in[2], in[5], in[3], in[4]})[0];
    return masked_gradient(in, y, [](double v) { return v >= kLow && v <= kHigh; });
  };
  return c;
}

std::vector<OpCase> batch_norm_cases() {
  std::vector<OpCase> all;
  for (const auto& [name, dims] :
       std::vector<std::pair<std::string, Dims>>{{"images", {2, 3, 2, 2}},
                                                 {"rows", {4, 3}},
                                                 {"many_channels", {2, 16, 3, 3}},
                                                 {"volumes", {2, 2, 2, 3, 2}},
                                                 {"one_image", {1, 2, 3, 5}},
                                                 {"wide_rows", {3, 19}},
                                                 {"large_planes", {2, 2, 19, 31}}}) {
    all.push_back({.name = name,
                   .type = "BatchNormalization",
                   .inputs = operands(dims),
                   .reference = given_statistics});
    all.push_back({.name = name,
                   .type = "BatchNormTrain",
                   .domain = kOwnDomain,
                   .attributes = {{"momentum", 0.8F}},
                   .inputs = operands(dims),
                   .outputs = 5,
                   .reference = of_batch(0.8),
                   .loss_outputs = 1});
  }
  std::vector<CaseInput> frozen = operands({2, 3, 4, 3});
  for (std::size_t i = 1; i < frozen.size(); ++i) frozen[i].differentiable = false;
  all.push_back({.name = "frozen",
                 .type = "BatchNormalization",
                 .inputs = frozen,
                 .reference = given_statistics});
  all.push_back({.name = "training_mode",
                 .type = "BatchNormalization",
                 .attributes = {{"training_mode", int64_t{1}}, {"momentum", 0.7F}},
                 .inputs = operands({3, 2, 2, 2}),
                 .outputs = 3,
                 .reference =
                     [](const auto& in) {
                       auto out = of_batch(0.7)(in);
                       out.resize(3);
                       return out;
                     },
                 .gradient = false});
  for (const Dims& dims : {Dims{2, 3, 4, 4}, Dims{3, 8, 2, 5}})
    for (bool added : {false, true}) {
      all.push_back(with_relu(dims, added));
      all.push_back(with_relu_grad(dims, added));
      all.push_back(given_fused(dims, added, false));
    }
  for (const Dims& dims : {Dims{2, 3, 4, 4}, Dims{3, 8, 2, 5}, Dims{5, 11}, Dims{1, 2, 3, 50}}) {
    all.push_back(with_clip(dims));
    all.push_back(with_clip_grad(dims));
    all.push_back(given_fused(dims, false, true));
  }
  for (const Dims& dims : {Dims{2, 3, 4, 4}, Dims{3, 8, 2, 5}}) all.push_back(with_sums(dims));
  for (OpCase& c : all) c.tolerance = 1e-4;
  return all;
}

class BatchNorms : public ::testing::TestWithParam<OpCase> {};
// Written attributes are read back; default values are omitted.
TEST(BatchNorm, AttributesComeBackAsTheyWereWritten) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  Value c = graph.input("c", {DType::float32, {3}});
  const Node norm = graph.add({.type = "BatchNormTrain",
                               .domain = kOwnDomain,
                               .inputs = {x, c, c, c, c},
                               .attributes = write_batch_norm({0.25F, 0.5F, false, true}),
                               .outputs = 5},
                              "norm");
  const BatchNormAttrs attrs = read_batch_norm(norm);
  EXPECT_EQ(attrs.epsilon, 0.25F);
  EXPECT_EQ(attrs.momentum, 0.5F);
  EXPECT_TRUE(attrs.training);
  EXPECT_TRUE(attrs.relu);
  EXPECT_FALSE(attrs.clip);
  const Node clipped =
      graph.add({.type = "BatchNormTrain",
                 .domain = kOwnDomain,
                 .inputs = {x, c, c, c, c},
                 .attributes = write_batch_norm({.clip = true, .low = -0.5F, .high = 0.25F}),
                 .outputs = 5},
                "clipped");
  EXPECT_TRUE(read_batch_norm(clipped).clip);
  EXPECT_EQ(read_batch_norm(clipped).low, -0.5F);
  EXPECT_EQ(read_batch_norm(clipped).high, 0.25F);
  for (bool given : {false, true})
    for (bool added : {false, true}) {
      const Node grad =
          graph.add({.type = "BatchNormGrad",
                     .domain = kOwnDomain,
                     .inputs = {x, x, c, c, c, c, x},
                     .attributes = write_batch_norm_grad({0.25F, given, !given, added}),
                     .outputs = 3},
                    join("grad_", given, added));
      const BatchNormGradAttrs back = read_batch_norm_grad(grad);
      EXPECT_EQ(back.epsilon, 0.25F);
      EXPECT_EQ(back.given, given);
      EXPECT_EQ(back.relu, !given);
      EXPECT_EQ(back.added, added);
    }
}

// Large enough for several threads, by groups of channels and by images.
TEST(BatchNorm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Dims& dims : {Dims{4, 8, 90, 90}, Dims{3, 5, 83, 71}, Dims{9000, 11}}) {
    expect_same_bits_on_any_threads(with_relu(dims, true));
    expect_same_bits_on_any_threads(with_clip(dims));
    OpCase grad = with_relu(dims, false);
    const CaseInput channel = positive({dims[1]});
    grad.type = "BatchNormGrad";
    grad.attributes = {{"low", kLow}, {"high", kHigh}};
    grad.inputs = {random(dims, 7), random(dims), channel, channel, channel, channel};
    grad.outputs = 4;
    expect_same_bits_on_any_threads(grad);
  }
}

// Squares of a large mean would lose the variance.
TEST(BatchNorm, FindsASmallVarianceAroundALargeMean) {
  OpCase c = with_relu({4, 3, 9, 9}, false);
  c.attributes = {{"momentum", 0.8F}};
  c.reference = of_batch(0.8);
  c.tolerance = 2e-3;
  auto values = c.inputs[0].value.values<float>();
  std::vector<float> far(values.begin(), values.end());
  for (float& value : far) value += 1000;
  c.inputs[0] = given(Literal::of<float>(far, {4, 3, 9, 9}));
  check_case(c);
}

TEST_P(BatchNorms, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, BatchNorms, ::testing::ValuesIn(batch_norm_cases()));

}  // namespace
}  // namespace lockstep::testing
