// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lockstep/op.h"
#include "tests/support/any_threads.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

struct Pool2d {
  int64_t kernel = 2, stride = 2;
  int64_t begin = 0, end = 0;
  bool ceil = false, include = false;
  int64_t dilation = 1;
};

Attributes attributes_of(const Pool2d& p, bool average) {
  Attributes attributes{{"kernel_shape", std::vector<int64_t>{p.kernel, p.kernel}},
                        {"strides", std::vector<int64_t>{p.stride, p.stride}},
                        {"pads", std::vector<int64_t>{p.begin, p.begin, p.end, p.end}},
                        {"ceil_mode", int64_t{p.ceil}}};
  if (average) attributes.push_back({"count_include_pad", int64_t{p.include}});
  if (p.dilation > 1)
    attributes.push_back({"dilations", std::vector<int64_t>{p.dilation, p.dilation}});
  return attributes;
}

int64_t out_size(const Pool2d& p, int64_t in) {
  int64_t room = in + p.begin + p.end - ((p.kernel - 1) * p.dilation + 1);
  return (p.ceil ? (room + p.stride - 1) / p.stride : room / p.stride) + 1;
}

Reference naive(const Pool2d& p, bool average) {
  return [=](const std::vector<Doubles>& in) {
    const Doubles& x = in[0];
    int64_t planes = x.dims[0] * x.dims[1], h = x.dims[2], w = x.dims[3];
    int64_t oh = out_size(p, h), ow = out_size(p, w);
    Doubles y{{x.dims[0], x.dims[1], oh, ow}, std::vector<double>(planes * oh * ow)};
    for (int64_t q = 0; q < planes; ++q)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j) {
          double best = -std::numeric_limits<double>::infinity(), total = 0, count = 0;
          for (int64_t u = 0; u < p.kernel; ++u)
            for (int64_t v = 0; v < p.kernel; ++v) {
              int64_t yy = i * p.stride - p.begin + u * p.dilation;
              int64_t xx = j * p.stride - p.begin + v * p.dilation;
              bool inside = yy >= 0 && yy < h && xx >= 0 && xx < w;
              if (inside) {
                best = std::max(best, x[(q * h + yy) * w + xx]);
                total += x[(q * h + yy) * w + xx];
              }
              count += inside || p.include;
            }
          y[(q * oh + i) * ow + j] = average ? total / count : best;
        }
    return std::vector<Doubles>{y};
  };
}

OpCase pool(const std::string& name, const std::string& type, const Dims& x, const Pool2d& p) {
  const bool average = type == "AveragePool";
  return {.name = name,
          .type = type,
          .attributes = attributes_of(p, average),
          .inputs = {random(x)},
          .reference = naive(p, average)};
}

std::vector<OpCase> pool_cases() {
  std::vector<OpCase> all{
      pool("two", "MaxPool", {1, 2, 4, 4}, {}),
      pool("rest", "MaxPool", {1, 1, 5, 5}, {}),
      pool("long_rows", "MaxPool", {1, 2, 5, 27}, {}),
      pool("pairs_padded", "MaxPool", {1, 2, 9, 13}, {.begin = 1, .end = 1}),
      pool("three_padded", "MaxPool", {2, 2, 11, 8}, {.kernel = 3, .begin = 1, .end = 1}),
      pool("overlap", "MaxPool", {1, 1, 6, 6}, {.kernel = 3}),
      pool("padded", "MaxPool", {1, 1, 6, 6}, {.kernel = 3, .begin = 1, .end = 1}),
      pool("ceil", "MaxPool", {1, 1, 6, 6}, {.kernel = 3, .ceil = true}),
      pool("dilated", "MaxPool", {1, 1, 6, 6}, {.stride = 1, .dilation = 2}),
      pool("one", "MaxPool", {1, 3, 4, 4}, {.kernel = 1}),
      pool("many_channels", "MaxPool", {2, 19, 2, 2}, {}),
      pool("two", "AveragePool", {1, 2, 4, 4}, {}),
      pool("padded", "AveragePool", {1, 1, 5, 5}, {.kernel = 3, .begin = 1, .end = 1}),
      pool("padded_counted", "AveragePool", {1, 1, 5, 5},
           {.kernel = 3, .begin = 1, .end = 1, .include = true}),
      pool("ceil", "AveragePool", {1, 1, 6, 6}, {.kernel = 3, .ceil = true}),
      pool("overlap", "AveragePool", {1, 2, 5, 5}, {.kernel = 3, .stride = 1}),
  };
  OpCase batch = pool("batch", "MaxPool", {2, 2, 4, 4}, {});
  batch.symbolic_batch = true;
  all.push_back(batch);
  batch = pool("batch", "AveragePool", {2, 2, 4, 4}, {});
  batch.symbolic_batch = true;
  all.push_back(batch);
  Reference mean = [](const std::vector<Doubles>& in) {
    int64_t planes = in[0].dims[0] * in[0].dims[1];
    int64_t size = static_cast<int64_t>(in[0].values.size()) / planes;
    Doubles y{{in[0].dims[0], in[0].dims[1], 1, 1}, std::vector<double>(planes)};
    for (int64_t i = 0; i < planes * size; ++i) y[i / size] += in[0][i] / size;
    return std::vector<Doubles>{y};
  };
  all.push_back({.name = "square",
                 .type = "GlobalAveragePool",
                 .inputs = {random({2, 3, 4, 4})},
                 .reference = mean});
  all.push_back({.name = "batch",
                 .type = "GlobalAveragePool",
                 .inputs = {random({2, 3, 3, 5})},
                 .reference = mean,
                 .symbolic_batch = true});
  all.push_back({.name = "square", .type = "GlobalMaxPool", .inputs = {random({2, 3, 4, 4})}});
  return all;
}

// A value equal to the first maximum, and NaN.
TEST(MaxPool, TakesTheFirstOfEqualsAndNaNAboveAll) {
  const float nan = std::nanf("");
  const Literal x = Literal::of<float>(
      std::vector<float>{1, 1, 0, 2, 1, 0, 2, 2, nan, 5, -1, -2, 5, nan, -1, -1}, {1, 1, 4, 4});
  OpCase c{.name = "equals", .type = "MaxPool", .inputs = {given(x)}, .gradient = false};
  c.attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                  {"strides", std::vector<int64_t>{2, 2}}};
  const std::vector<Literal> forward = results_on_threads(c, 1);
  const auto maxima = forward[0].values<float>();
  EXPECT_EQ(maxima[0], 1);
  EXPECT_EQ(maxima[1], 2);
  EXPECT_TRUE(std::isnan(maxima[2]));
  EXPECT_EQ(maxima[3], -1);
  c.type = "MaxPoolGrad";
  c.domain = kOwnDomain;
  c.inputs = {given(Literal::of<float>(std::vector<float>{3, 4, 5, 6}, {1, 1, 2, 2})), given(x)};
  const std::vector<Literal> gradient = results_on_threads(c, 1);
  const auto dx = gradient[0].values<float>();
  EXPECT_EQ((std::vector<float>(dx.begin(), dx.end())),
            (std::vector<float>{3, 0, 0, 4, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0}));
}

// Four windows are computed at once if there are four; the last four overlap earlier windows.
TEST(MaxPool, RowsOfPairsHaveAnyLength) {
  const float kinds[] = {1, -2, 3, std::nanf(""), 3, -0.0F, 0, -7, 3, 1};
  for (int64_t out = 1; out < 14; ++out)
    for (const int64_t width : {2 * out, 2 * out + 1}) {
      std::vector<float> x;
      for (int64_t i = 0; i < 4 * width; ++i) x.push_back(kinds[i * i % 97 % 10]);
      OpCase c{.name = "pairs",
               .type = "MaxPool",
               .attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                              {"strides", std::vector<int64_t>{2, 2}}},
               .inputs = {given(Literal::of<float>(x, {1, 1, 4, width}))},
               .gradient = false};
      const std::vector<Literal> results = results_on_threads(c, 1);
      const auto maxima = results[0].values<float>();
      for (int64_t i = 0; i < 2 * out; ++i) {
        const float* window = x.data() + i / out * 2 * width + i % out * 2;
        float most = window[0];
        for (const float value : {window[1], window[width], window[width + 1]})
          if (value > most || (std::isnan(value) && !std::isnan(most))) most = value;
        EXPECT_EQ(std::bit_cast<uint32_t>(maxima[static_cast<std::size_t>(i)]),
                  std::bit_cast<uint32_t>(most))
            << i << " of rows of " << width;
      }
    }
}

TEST(MaxPool, GivesTheSameBitsOnAnyNumberOfThreads) {
  OpCase c = pool("threads", "MaxPool", {3, 5, 61, 47}, {.kernel = 3, .begin = 1, .end = 1});
  expect_same_bits_on_any_threads(c);
  c = pool("threads", "MaxPool", {3, 5, 61, 47}, {});
  expect_same_bits_on_any_threads(c);
}

class Pool : public ::testing::TestWithParam<OpCase> {};
TEST_P(Pool, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Pool, ::testing::ValuesIn(pool_cases()));

}  // namespace
}  // namespace lockstep::testing
