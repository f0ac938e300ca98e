// SPDX-License-Identifier: Apache-2.0
// Gradients are compared with PyTorch's fake quantisation in tests/python/check_operators.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

template <class T>
CaseInput integers(std::vector<T> values, const Dims& dims) {
  return given(Literal::of<T>(values, dims));
}
CaseInput floats(std::vector<float> values, const Dims& dims) {
  return given(Literal::of<float>(values, dims));
}

// The scale of element i, if `stretch` neighbours have one scale.
std::size_t number(const Doubles& scale, std::size_t i, std::size_t stretch) {
  return i / stretch % scale.values.size();
}

Reference quantized(double low, double high, std::size_t stretch = 1) {
  return [=](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const std::size_t at = number(in[1], i, stretch);
      const double zero = in.size() > 2 ? in[2].values[at] : 0;
      y.values[i] = std::clamp(std::nearbyint(y.values[i] / in[1].values[at]) + zero, low, high);
    }
    return std::vector<Doubles>{y};
  };
}

Reference dequantized(std::size_t stretch = 1) {
  return [=](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const std::size_t at = number(in[1], i, stretch);
      y.values[i] = (y.values[i] - (in.size() > 2 ? in[2].values[at] : 0)) * in[1].values[at];
    }
    return std::vector<Doubles>{y};
  };
}

std::vector<OpCase> quantize_cases() {
  const Attributes rows{{"axis", int64_t{0}}}, last{{"axis", int64_t{-1}}};
  // Halves are rounded to even; the first and the last values are outside of the range.
  const CaseInput halves = floats({-300, -2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 300}, {2, 4});
  const CaseInput x = floats({-1, 0.3F, 2, 5, -6, 0.25F, 9, -30, 0.75F, 60, -8, 1}, {2, 3, 2});
  const CaseInput scales = floats({0.5F, 0.25F, 0.1F}, {3});
  return {
      {.name = "bytes",
       .type = "QuantizeLinear",
       .inputs = {halves, floats({1}, {}), integers<uint8_t>({128}, {})},
       .reference = quantized(0, 255),
       .gradient = false},
      {.name = "signed",
       .type = "QuantizeLinear",
       .inputs = {halves, floats({1}, {}), integers<int8_t>({-3}, {})},
       .reference = quantized(-128, 127),
       .gradient = false},
      {.name = "without_zero_point",
       .type = "QuantizeLinear",
       .inputs = {halves, floats({0.5F}, {})},
       .reference = quantized(0, 255),
       .gradient = false},
      {.name = "by_channel",
       .type = "QuantizeLinear",
       .inputs = {x, scales, integers<int8_t>({0, -5, 7}, {3})},
       .reference = quantized(-128, 127, 2),
       .gradient = false,
       .symbolic_batch = false},
      {.name = "by_row",
       .type = "QuantizeLinear",
       .attributes = rows,
       .inputs = {x, floats({0.3F, 0.5F}, {2}), integers<uint8_t>({3, 128}, {2})},
       .reference = quantized(0, 255, 6),
       .gradient = false},
      {.name = "empty",
       .type = "QuantizeLinear",
       .inputs = {given(Literal(DType::float32, {0, 3})), scales, integers<int8_t>({0, 1, 2}, {3})},
       .gradient = false,
       .oracle = false},
      {.name = "bytes",
       .type = "DequantizeLinear",
       .inputs = {integers<uint8_t>({0, 3, 128, 255}, {4}), floats({0.5F}, {}),
                  integers<uint8_t>({128}, {})},
       .reference = dequantized(),
       .gradient = false},
      {.name = "int32",
       .type = "DequantizeLinear",
       .inputs = {integers<int32_t>({-70000, 3, 128, 255}, {4}), floats({0.5F}, {})},
       .reference = dequantized(),
       .gradient = false},
      {.name = "last_axis",
       .type = "DequantizeLinear",
       .attributes = last,
       .inputs = {integers<int8_t>({-128, 3, 127, 0, 5, -6}, {2, 3}), scales,
                  integers<int8_t>({0, -5, 7}, {3})},
       .reference = dequantized(),
       .gradient = false},
      {.name = "gradient_of_the_scale",
       .type = "DequantizeLinear",
       .attributes = last,
       .inputs = {integers<int8_t>({-128, 3, 127, 0, 5, -6}, {2, 3}), positive({3}),
                  integers<int8_t>({0, -5, 7}, {3})},
       .reference = dequantized(),
       .tolerance = 1e-4},
  };
}

class Quantizes : public ::testing::TestWithParam<OpCase> {};
TEST_P(Quantizes, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Quantizes, ::testing::ValuesIn(quantize_cases()));

TEST(QuantizeErrors, ScalesThatDoNotFitAreNamed) {
  const auto refused = [](std::vector<CaseInput> inputs, const std::string& why) {
    const OpCase c{.name = "bad", .type = "QuantizeLinear", .inputs = std::move(inputs)};
    expect_error([&] { check_case(c); }, "QuantizeLinear", why);
  };
  refused({random({2, 3}), floats({1, 2}, {2})}, "for the slices of float32[2,3] along axis 1");
  refused({random({2, 3}), floats({1, 2, 3}, {3, 1})}, "should be a scalar or a vector");
  refused({random({2, 3}), floats({1, 2, 3}, {3}), integers<int8_t>({1, 2}, {2})},
          "the scale is float32[3]");
}

}  // namespace
}  // namespace lockstep::testing
