// SPDX-License-Identifier: Apache-2.0
// Scatters that combine updates with the data, and their gradients. PyTorch's gradients of equal
// values are compared in tests/python/check_operators.py.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

using Meet = double (*)(double, double);

double product(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

// Data [.., 3] and indices of rows.
Reference into_rows(Meet meet) {
  return [meet](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < in[2].values.size(); ++i) {
      double& to = y.values[static_cast<std::size_t>(in[1].values[i]) * 3 + i % 3];
      to = meet(to, in[2].values[i]);
    }
    return std::vector<Doubles>{y};
  };
}

// Slices of three elements.
Reference into_slices(Meet meet) {
  return [meet](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < in[2].values.size(); ++i) {
      double& to = y.values[static_cast<std::size_t>(in[1].values[i / 3]) * 3 + i % 3];
      to = meet(to, in[2].values[i]);
    }
    return std::vector<Doubles>{y};
  };
}

// A factor of zero, and two zeros with one target.
CaseInput with_zeros(const Dims& dims, std::vector<std::size_t> zeros) {
  CaseInput input = random(dims, 2);
  const auto values = input.value.values<float>();
  std::vector<float> changed(values.begin(), values.end());
  for (std::size_t i : zeros) changed[i] = 0;
  input.value = Literal::of<float>(changed, dims);
  return input;
}

std::vector<OpCase> scatter_cases() {
  struct Reduction {
    std::string name;
    Meet meet;
    bool oracle;  // ONNX Runtime has max and min from opset 18 on
  };
  std::vector<OpCase> cases;
  for (const Reduction& by : {Reduction{"mul", product, true}, Reduction{"max", larger, false},
                              Reduction{"min", smaller, false}}) {
    const Attributes reduction{{"reduction", by.name}};
    // Some rows are never a target, some are a target once, some more often.
    const CaseInput rows = labels({1, 0, 2, 1, 2, 2, 1, 0, 0}, {3, 3});
    cases.push_back({.name = by.name,
                     .type = "ScatterElements",
                     .attributes = reduction,
                     .inputs = {random({4, 3}), rows, random({3, 3}, 2)},
                     .reference = into_rows(by.meet),
                     .oracle = by.oracle});
    cases.push_back({.name = by.name + "_columns",
                     .type = "ScatterElements",
                     .attributes = {{"axis", int64_t{-1}}, {"reduction", by.name}},
                     .inputs = {random({2, 3, 4}), labels({3, -1, 0, 0, 1, 1, 1, 2}, {2, 2, 2}),
                                random({2, 2, 2}, 2)},
                     .oracle = by.oracle});
    cases.push_back({.name = by.name,
                     .type = "ScatterND",
                     .attributes = reduction,
                     .inputs = {random({4, 3}), labels({2, 0, 2, 2}, {4, 1}), random({4, 3}, 2)},
                     .reference = into_slices(by.meet),
                     .oracle = by.oracle});
    cases.push_back({.name = by.name + "_elements",
                     .type = "ScatterND",
                     .attributes = reduction,
                     .inputs = {random({2, 3}), labels({1, 2, 0, 0, 1, 2}, {3, 2}), random({3}, 2)},
                     .oracle = by.oracle});
  }
  cases.push_back({.name = "mul_by_zeros",
                   .type = "ScatterElements",
                   .attributes = {{"reduction", std::string("mul")}},
                   .inputs = {random({4, 3}), labels({1, 0, 2, 1, 2, 2, 1, 0, 0}, {3, 3}),
                              with_zeros({3, 3}, {0, 3, 5})},
                   .reference = into_rows(product)});
  return cases;
}

class Scatters : public ::testing::TestWithParam<OpCase> {};
TEST_P(Scatters, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Scatters, ::testing::ValuesIn(scatter_cases()));

}  // namespace
}  // namespace lockstep::testing
