// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

std::vector<OpCase> activation_cases() {
  auto of_one = [](double (*f)(double)) {
    return elementwise([f](const std::vector<double>& x) { return f(x[0]); });
  };
  return {
      {.name = "small",
       .type = "Relu",
       .inputs = {random({3, 5})},
       .reference = of_one(+[](double x) { return std::max(x, 0.0); })},
      {.name = "batch",
       .type = "Relu",
       .inputs = {random({2, 3, 2, 2})},
       .reference = of_one(+[](double x) { return std::max(x, 0.0); }),
       .symbolic_batch = true},
      {.name = "small",
       .type = "Sigmoid",
       .inputs = {random({3, 5})},
       .reference = of_one(+[](double x) { return 1 / (1 + std::exp(-x)); })},
      {.name = "small",
       .type = "Tanh",
       .inputs = {random({3, 5})},
       .reference = of_one(+[](double x) { return std::tanh(x); })},
  };
}

class Activation : public ::testing::TestWithParam<OpCase> {};
TEST_P(Activation, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Activation, ::testing::ValuesIn(activation_cases()));

}  // namespace
}  // namespace lockstep::testing
