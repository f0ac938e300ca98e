// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/op.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

using Numbers = std::vector<double>;

// y[i, j] = f(a[i, j], b[j]), where b has one dimension less.
Reference by_row(double (*f)(double, double)) {
  return [f](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i)
      y[i] = f(in[0][i], in[1][i % in[1].values.size()]);
    return std::vector<Doubles>{y};
  };
}

// [2,1] with [1,3] -> [2,3]
Reference outer(double (*f)(double, double)) {
  return [f](const std::vector<Doubles>& in) {
    Doubles y{{2, 3}, Numbers(6)};
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j) y[i * 3 + j] = f(in[0][i], in[1][j]);
    return std::vector<Doubles>{y};
  };
}

double plus(double a, double b) { return a + b; }
double minus(double a, double b) { return a - b; }
double times(double a, double b) { return a * b; }
double over(double a, double b) { return a / b; }

constexpr bool kMask[] = {true, false, false, true};

// Values around -0.5 and 2; a bound itself is in range.
const std::vector<float> kAroundBounds{-1, -0.5F, 0, 2, 2.5F, std::nanf("")};

Reference elementwise_of_first(double (*f)(double)) {
  return [f](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (double& value : y.values) value = f(value);
    return std::vector<Doubles>{y};
  };
}

// Applies to the first two inputs, for any shapes of the others.
Reference elementwise_of_two(double (*f)(double, double)) {
  return [f](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) y[i] = f(in[0][i], in[1][i]);
    return std::vector<Doubles>{y};
  };
}

// Weights with and without a plane, and sizes that are not a multiple of a GPU's vector width.
OpCase many_casts(DType to, double tolerance) {
  return {.name = join("of_many_to_", to),
          .type = "Casts",
          .domain = kOwnDomain,
          .attributes = {{"to", static_cast<int64_t>(to)}},
          .inputs = {random({4, 3, 2, 3}), random({37}, 2), random({70, 80}, 3),
                     random({5, 8, 1, 1}, 4), random({2, 1, 3, 3}, 5)},
          .outputs = 5,
          .reference = [](const std::vector<Doubles>& in) { return in; },
          .tolerance = tolerance,
          .gradient = false};
}

// Bytes of several channels, with a table for each channel or one for all. Planes are and are not a
// multiple of a GPU's vector width.
OpCase looked_up(const Dims& dims, bool by_channel) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < element_count(dims); ++i) bytes.push_back(static_cast<uint8_t>(91 * i));
  const int64_t tables = by_channel ? dims[1] : 1,
                plane = element_count({dims.begin() + 2, dims.end()});
  return {.name = join("of_", by_channel ? "channels" : "all", text_of(dims)),
          .type = "ByteTable",
          .domain = kOwnDomain,
          .inputs = {given(Literal::of<uint8_t>(bytes, dims)), random({tables, 256})},
          .reference =
              [dims, tables, plane](const std::vector<Doubles>& in) {
                Doubles y{dims, in[0].values};
                for (int64_t i = 0; i < element_count(dims); ++i)
                  y[i] = in[1][i / plane % dims[1] % tables * 256 + static_cast<int64_t>(in[0][i])];
                return std::vector<Doubles>{y};
              },
          .gradient = false};
}

std::vector<OpCase> elementwise_cases() {
  auto same = [](double (*f)(double, double)) {
    return elementwise([f](const Numbers& x) { return f(x[0], x[1]); });
  };
  auto of_one = [](double (*f)(double)) {
    return elementwise([f](const Numbers& x) { return f(x[0]); });
  };
  Literal flags = Literal::of<int32_t>(std::vector<int32_t>{0, 1, 5, -3}, {4});
  return {
      {.name = "same",
       .type = "Add",
       .inputs = {random({3, 4}), random({3, 4}, 2)},
       .reference = same(plus)},
      {.name = "row",
       .type = "Add",
       .inputs = {random({3, 4}), random({4}, 2)},
       .reference = by_row(plus)},
      {.name = "outer",
       .type = "Add",
       .inputs = {random({2, 1}), random({1, 3}, 2)},
       .reference = outer(plus)},
      {.name = "batch",
       .type = "Add",
       .inputs = {random({3, 4}), random({3, 4}, 2)},
       .reference = same(plus),
       .symbolic_batch = true},
      {.name = "empty",
       .type = "Add",
       .inputs = {random({0, 4}), random({4}, 2)},
       .reference = by_row(plus),
       .gradient = false},
      {.name = "empty_alike",
       .type = "Add",
       .inputs = {random({0}), random({0}, 2)},
       .reference = same(plus),
       .gradient = false},
      {.name = "empty_row",
       .type = "Mul",
       .inputs = {random({3, 0}), random({}, 2)},
       .reference = by_row(times),
       .gradient = false},
      {.name = "same",
       .type = "Sub",
       .inputs = {random({5}), random({5}, 2)},
       .reference = same(minus)},
      {.name = "outer",
       .type = "Sub",
       .inputs = {random({2, 1}), random({1, 3}, 2)},
       .reference = outer(minus)},
      {.name = "same",
       .type = "Mul",
       .inputs = {random({2, 3}), random({2, 3}, 2)},
       .reference = same(times)},
      {.name = "row",
       .type = "Mul",
       .inputs = {random({2, 3, 2}), random({2}, 2)},
       .reference = by_row(times)},
      {.name = "scalar",
       .type = "Mul",
       .inputs = {random({2, 3}), random({}, 2)},
       .reference = by_row(times)},
      {.name = "outer",
       .type = "Mul",
       .inputs = {random({2, 1}), random({1, 3}, 2)},
       .reference = outer(times)},
      {.name = "middle", .type = "Mul", .inputs = {random({2, 3, 4}), random({3, 1}, 2)}},
      {.name = "same",
       .type = "Div",
       .inputs = {random({6}), positive({6}, 2)},
       .reference = same(over)},
      {.name = "row",
       .type = "Div",
       .inputs = {random({2, 3}), positive({3}, 2)},
       .reference = by_row(over)},
      {.name = "integers",
       .type = "Div",
       .inputs = {given(Literal::vector({7, -7, 9})), given(Literal::vector({2, 2, 3}))},
       .reference = elementwise([](const Numbers& x) { return std::trunc(x[0] / x[1]); }),
       .gradient = false},
      {.name = "positive",
       .type = "Pow",
       .inputs = {positive({2, 3}), random({2, 3}, 2)},
       .reference = elementwise([](const Numbers& x) { return std::pow(x[0], x[1]); })},
      {.name = "whole_exponent",
       .type = "Pow",
       .inputs = {random({2, 3}), given(Literal::vector({2, 3, 1}))},
       .reference =
           [](const std::vector<Doubles>& in) {
             Doubles y = in[0];
             for (std::size_t i = 0; i < 6; ++i)
               y.values[i] = std::pow(y.values[i], in[1].values[i % 3]);
             return std::vector<Doubles>{y};
           }},
      {.name = "scalar_exponent", .type = "Pow", .inputs = {positive({4}), positive({}, 2)}},
      {.name = "three",
       .type = "Sum",
       .inputs = {random({2, 3}), random({2, 3}, 2), random({2, 3}, 3)},
       .reference = elementwise([](const Numbers& x) { return x[0] + x[1] + x[2]; })},
      {.name = "broadcast",
       .type = "Sum",
       .inputs = {random({2, 3}), random({3}, 2)},
       .reference = by_row(plus)},
      {.name = "two_of_packs_and_rest",
       .type = "Sum",
       .inputs = {random({37}), random({37}, 2)},
       .reference = elementwise([](const Numbers& x) { return x[0] + x[1]; })},
      {.name = "four_of_packs_and_rest",
       .type = "Sum",
       .inputs = {random({37}), random({37}, 2), random({37}, 3), random({37}, 4)},
       .reference = elementwise([](const Numbers& x) { return x[0] + x[1] + x[2] + x[3]; })},
      {.name = "three_of_packs_and_rest",
       .type = "Mean",
       .inputs = {random({37}), random({37}, 2), random({37}, 3)},
       .reference = elementwise([](const Numbers& x) { return (x[0] + x[1] + x[2]) / 3; })},
      {.name = "one", .type = "Sum", .inputs = {random({3})}, .reference = of_one(+[](double x) {
                                                                return x;
                                                              })},
      {.name = "small", .type = "Neg", .inputs = {random({7})}, .reference = of_one(+[](double x) {
                                                                  return -x;
                                                                })},
      {.name = "small",
       .type = "Exp",
       .inputs = {random({2, 3})},
       .reference = of_one(+[](double x) { return std::exp(x); })},
      {.name = "small",
       .type = "Log",
       .inputs = {positive({2, 3})},
       .reference = of_one(+[](double x) { return std::log(x); })},
      {.name = "small",
       .type = "Sqrt",
       .inputs = {positive({2, 3})},
       .reference = of_one(+[](double x) { return std::sqrt(x); })},
      {.name = "small",
       .type = "Reciprocal",
       .inputs = {positive({2, 3})},
       .reference = of_one(+[](double x) { return 1 / x; })},
      {.name = "small",
       .type = "Abs",
       .inputs = {random({2, 3})},
       .reference = of_one(+[](double x) { return std::abs(x); })},
      {.name = "small",
       .type = "Sign",
       .inputs = {random({5})},
       .reference = of_one(+[](double x) { return double((x > 0) - (x < 0)); }),
       .gradient = false},
      {.name = "integers",
       .type = "Equal",
       .inputs = {given(Literal::vector({1, 2, 3})), given(Literal::vector({1, 5, 3}))},
       .reference = elementwise([](const Numbers& x) { return double(x[0] == x[1]); }),
       .gradient = false},
      {.name = "small",
       .type = "Greater",
       .inputs = {random({6}), random({6}, 2)},
       .reference = elementwise([](const Numbers& x) { return double(x[0] > x[1]); }),
       .gradient = false},
      {.name = "small",
       .type = "Less",
       .inputs = {random({6}), random({6}, 2)},
       .reference = elementwise([](const Numbers& x) { return double(x[0] < x[1]); }),
       .gradient = false},
      {.name = "broadcast",
       .type = "Mean",
       .inputs = {random({2, 3}), random({3}, 2)},
       .reference = by_row(+[](double a, double b) { return (a + b) / 2; })},
      {.name = "two",
       .type = "Max",
       .inputs = {random({2, 3}), random({2, 3}, 2)},
       .reference = elementwise([](const Numbers& x) { return std::max(x[0], x[1]); })},
      {.name = "row",
       .type = "Max",
       .inputs = {random({2, 3}), random({3}, 3)},
       .reference = by_row(+[](double a, double b) { return std::max(a, b); })},
      {.name = "three",
       .type = "Min",
       .inputs = {random({2, 4}), random({4}, 2), random({}, 3)},
       .reference =
           [](const std::vector<Doubles>& in) {
             Doubles y = in[0];
             for (std::size_t i = 0; i < 8; ++i)
               y[i] = std::min({in[0][i], in[1][i % 4], in[2][0]});
             return std::vector<Doubles>{y};
           }},
      {.name = "row",
       .type = "PRelu",
       .inputs = {random({4, 3}), random({3}, 2)},
       .reference = by_row(+[](double x, double slope) { return x < 0 ? slope * x : x; })},
      {.name = "same",
       .type = "Where",
       .inputs = {given(Literal::of<bool>(std::span<const bool>(kMask), {4})), random({4}),
                  random({4}, 2)},
       .reference = elementwise([](const Numbers& x) { return x[0] != 0 ? x[1] : x[2]; })},
      {.name = "broadcast",
       .type = "Where",
       .inputs = {given(Literal::of<bool>(std::span<const bool>(kMask), {4, 1})), random({3}),
                  random({4, 3}, 2)}},
      {.name = "both",
       .type = "Clip",
       .inputs = {random({3, 4}),
                  {Literal::scalar(-0.52F), false, true, false},
                  {Literal::scalar(0.48F), false, true, false}},
       .reference = elementwise_of_first(
           [](double x) { return std::clamp(x, double(-0.52F), double(0.48F)); })},
      {.name = "low",
       .type = "Clip",
       .inputs = {random({3, 4}), {Literal::scalar(-0.52F), false, true, false}}},
      {.name = "high",
       .type = "Clip",
       .inputs = {random({3, 4}), left_out(), {Literal::scalar(0.48F), false, true, false}}},
      {.name = "both",
       .type = "ClipGrad",
       .domain = kOwnDomain,
       .inputs = {random({2, 3}), given(Literal::of<float>(kAroundBounds, {2, 3})),
                  given(Literal::scalar(-0.5F)), given(Literal::scalar(2.0F))},
       .reference =
           elementwise_of_two([](double dy, double x) { return x >= -0.5 && x <= 2 ? dy : 0; }),
       .gradient = false},
      {.name = "high",
       .type = "ClipGrad",
       .domain = kOwnDomain,
       .inputs = {random({2, 3}), given(Literal::of<float>(kAroundBounds, {2, 3})), left_out(),
                  given(Literal::scalar(2.0F))},
       .reference = elementwise_of_two([](double dy, double x) { return x <= 2 ? dy : 0; }),
       .gradient = false},
      {.name = "long",
       .type = "Clip",
       .inputs = {random({40000}),
                  {Literal::scalar(-0.52F), false, true, false},
                  {Literal::scalar(0.48F), false, true, false}},
       .reference = elementwise_of_first(
           [](double x) { return std::clamp(x, double(-0.52F), double(0.48F)); }),
       .gradient = false},
      {.name = "floor",
       .type = "Mod",
       .inputs = {given(Literal::vector({-4, 7, 5, 4, -7, 8})),
                  given(Literal::vector({2, -3, 8, -2, 3, 5}))},
       .gradient = false},
      {.name = "c_like",
       .type = "Mod",
       .attributes = {{"fmod", int64_t{1}}},
       .inputs = {random({5}), positive({5}, 2)},
       .reference = elementwise([](const Numbers& x) { return std::fmod(x[0], x[1]); }),
       .gradient = false},
      {.name = "small",
       .type = "GreaterOrEqual",
       .inputs = {random({6}), random({6})},
       .reference = elementwise([](const Numbers& x) { return double(x[0] >= x[1]); }),
       .gradient = false},
      {.name = "small",
       .type = "LessOrEqual",
       .inputs = {random({6}), random({6}, 2)},
       .reference = elementwise([](const Numbers& x) { return double(x[0] <= x[1]); }),
       .gradient = false},
      {.name = "like_int",
       .type = "CastLike",
       .inputs = {positive({4}), given(Literal::vector({1}))},
       .gradient = false},
      {.name = "to_int",
       .type = "Cast",
       .attributes = {{"to", int64_t{7}}},
       .inputs = {positive({4})},
       .reference = of_one(+[](double x) { return std::trunc(x); }),
       .gradient = false},
      {.name = "to_bool",
       .type = "Cast",
       .attributes = {{"to", int64_t{9}}},
       .inputs = {given(flags)},
       .reference = of_one(+[](double x) { return double(x != 0); }),
       .gradient = false},
      {.name = "to_double",
       .type = "Cast",
       .attributes = {{"to", int64_t{11}}},
       .inputs = {random({4})},
       .reference = of_one(+[](double x) { return x; }),
       .gradient = false},
      many_casts(DType::bfloat16, 1e-2),
      many_casts(DType::float16, 1e-3),
      looked_up({2, 3, 4, 6}, true),
      looked_up({3, 3, 8, 200}, true),
      looked_up({2, 3, 3, 5}, true),
      looked_up({2, 5, 2, 4}, true),
      looked_up({2, 3, 8}, false),
      looked_up({3, 7}, true),
      looked_up({0, 3, 2, 4}, true),
  };
}

class Elementwise : public ::testing::TestWithParam<OpCase> {};
TEST_P(Elementwise, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Elementwise, ::testing::ValuesIn(elementwise_cases()));

}  // namespace
}  // namespace lockstep::testing
