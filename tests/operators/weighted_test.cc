// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lockstep/op.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

Literal factor(float value) { return Literal::of<float>({&value, 1}, {1}); }

std::vector<OpCase> weighted_cases() {
  return {{.name = "double",
           .type = "Scale",
           .domain = kOwnDomain,
           .attributes = {{"scale", 2.0F}},
           .inputs = {random({5})},
           .reference = elementwise([](const std::vector<double>& x) { return 2 * x[0]; })},
          {.name = "decay",
           .type = "WeightedSum",
           .domain = kOwnDomain,
           .inputs = {random({2, 3}), given(factor(1)), random({2, 3}, 2), given(factor(0.01F))},
           .reference =
               [](const std::vector<Doubles>& in) {
                 Doubles y = in[0];
                 for (std::size_t i = 0; i < y.values.size(); ++i)
                   y[i] = in[0][i] * in[1][0] + in[2][i] * in[3][0];
                 return std::vector<Doubles>{y};
               },
           .gradient = false}};
}

class Weighted : public ::testing::TestWithParam<OpCase> {};
TEST_P(Weighted, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Weighted, ::testing::ValuesIn(weighted_cases()));

}  // namespace
}  // namespace lockstep::testing
