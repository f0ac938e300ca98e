// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

// Normalises rows of `length` to mean 0 and deviation 1, then applies scale and bias by position or
// channel.
std::vector<double> normalised(const std::vector<double>& row, double epsilon) {
  double mean = 0, square = 0;
  for (double x : row) mean += x / static_cast<double>(row.size());
  for (double x : row) square += (x - mean) * (x - mean) / static_cast<double>(row.size());
  std::vector<double> y;
  for (double x : row) y.push_back((x - mean) / std::sqrt(square + epsilon));
  return y;
}

std::vector<Doubles> instance(const std::vector<Doubles>& in) {
  Doubles y{in[0].dims, {}};
  const int64_t c = y.dims[1], plane = element_count(y.dims) / (y.dims[0] * c);
  for (int64_t p = 0; p < y.dims[0] * c; ++p) {
    auto begin = in[0].values.begin() + p * plane;
    for (double x : normalised({begin, begin + plane}, 1e-5))
      y.values.push_back(x * in[1][p % c] + in[2][p % c]);
  }
  return {y};
}

std::vector<Doubles> layer(const std::vector<Doubles>& in) {
  Doubles y{in[0].dims, {}};
  const auto length = static_cast<int64_t>(in[1].values.size());
  for (int64_t row = 0; row < element_count(y.dims) / length; ++row) {
    auto begin = in[0].values.begin() + row * length;
    auto values = normalised({begin, begin + length}, 1e-5);
    for (int64_t i = 0; i < length; ++i)
      y.values.push_back(values[i] * in[1][i] + (in.size() > 2 ? in[2][i] : 0));
  }
  return {y};
}

// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta
Reference neighbours(int64_t size, double alpha, double beta, double bias) {
  return [=](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    const int64_t c = y.dims[1], plane = element_count(y.dims) / (y.dims[0] * c);
    for (int64_t i = 0; i < element_count(y.dims); ++i) {
      const int64_t k = i / plane % c;
      double sum = 0;
      for (int64_t j = std::max<int64_t>(0, k - (size - 1) / 2); j <= std::min(c - 1, k + size / 2);
           ++j)
        sum += in[0][i + (j - k) * plane] * in[0][i + (j - k) * plane];
      y[i] /= std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
    }
    return std::vector<Doubles>{y};
  };
}

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> all{
      {.name = "images",
       .type = "InstanceNormalization",
       .inputs = {random({2, 3, 2, 3}), random({3}, 2), random({3}, 3)},
       .reference = instance},
      {.name = "last",
       .type = "LayerNormalization",
       .inputs = {random({2, 3, 4}), random({4}, 2), random({4}, 3)},
       .reference = layer},
      {.name = "two_axes",
       .type = "LayerNormalization",
       .attributes = {{"axis", int64_t{1}}},
       .inputs = {random({2, 3, 4}), random({3, 4}, 2)},
       .reference = layer},
      {.name = "statistics",
       .type = "LayerNormalization",
       .inputs = {random({2, 5}), random({5}, 2), random({5}, 3)},
       .outputs = 3,
       .reference = layer,
       .gradient = false},
      {.name = "channels",
       .type = "LRN",
       .attributes = {{"size", int64_t{3}}, {"alpha", 0.5F}},
       .inputs = {random({2, 5, 2, 2})},
       .reference = neighbours(3, 0.5, 0.75, 1)},
      {.name = "even_size",
       .type = "LRN",
       .attributes = {{"size", int64_t{4}}, {"alpha", 0.7F}, {"beta", 0.5F}, {"bias", 2.0F}},
       .inputs = {random({1, 6, 3})},
       .reference = neighbours(4, 0.7, 0.5, 2),
       .oracle = false},  // ONNX Runtime supports only odd sizes
  };
  for (OpCase& c : all) c.tolerance = 1e-4;
  return all;
}

class Norms : public ::testing::TestWithParam<OpCase> {};
TEST_P(Norms, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Norms, ::testing::ValuesIn(norm_cases()));

TEST(NormErrors, ScaleAndBiasHaveAnElementForEach) {
  OpCase c{.name = "bad",
           .type = "InstanceNormalization",
           .inputs = {random({2, 3, 4}), random({2}), random({3})}};
  expect_error([&] { check_case(c); }, "scale is float32[2], should have 3 elements");
  c = {.name = "bad",
       .type = "LayerNormalization",
       .inputs = {random({2, 3}), random({3}), random({2})}};
  expect_error([&] { check_case(c); }, "bias is float32[2], should have 3 elements");
}

TEST(NormErrors, ChannelsAreThere) {
  OpCase c{
      .name = "bad", .type = "LRN", .attributes = {{"size", int64_t{1}}}, .inputs = {random({3})}};
  expect_error([&] { check_case(c); }, "channels of [N, C, ..], not float32[3]");
}

}  // namespace
}  // namespace lockstep::testing
