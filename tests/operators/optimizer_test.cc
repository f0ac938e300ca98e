#include <gtest/gtest.h>

#include "graph/op.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

Literal one(float value) { return Literal::of<float>({&value, 1}, {1}); }

// v' = mu v + lr g; step = v' or (1 + mu) v' - mu v; p' = p - step
Reference momentum(double mu, bool nesterov) {
  return [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out(3, in[0]);
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      double fresh = mu * in[1][i] + in[2][0] * in[0][i];
      double step = nesterov ? (1 + mu) * fresh - mu * in[1][i] : fresh;
      out[0][i] = step;
      out[1][i] = fresh;
      out[2][i] = in[3][i] - step;
    }
    return out;
  };
}

std::vector<OpCase> cases() {
  return {
      {.name = "double",
       .type = "Scale",
       .domain = kOwnDomain,
       .attributes = {{"scale", 2.0F}},
       .inputs = {random({5})},
       .reference = elementwise([](const std::vector<double>& x) { return 2 * x[0]; })},
      {.name = "decay",
       .type = "WeightedSum",
       .domain = kOwnDomain,
       .inputs = {random({2, 3}), given(one(1)), random({2, 3}, 2), given(one(0.01F))},
       .reference =
           [](const std::vector<Doubles>& in) {
             Doubles y = in[0];
             for (std::size_t i = 0; i < y.values.size(); ++i)
               y[i] = in[0][i] * in[1][0] + in[2][i] * in[3][0];
             return std::vector<Doubles>{y};
           },
       .gradient = false},
      {.name = "plain",
       .type = "MomentumSGDUpdate",
       .domain = kOwnDomain,
       .attributes = {{"momentum", 0.9F}},
       .inputs = {random({6}), random({6}, 2), given(one(0.1F)), random({6}, 3)},
       .outputs = 3,
       .reference = momentum(0.9F, false),
       .gradient = false},
      {.name = "nesterov",
       .type = "MomentumSGDUpdate",
       .domain = kOwnDomain,
       .attributes = {{"momentum", 0.9F}, {"nesterov", int64_t{1}}},
       .inputs = {random({6}), random({6}, 2), given(one(0.1F)), random({6}, 3)},
       .outputs = 3,
       .reference = momentum(0.9F, true),
       .gradient = false},
  };
}

class Optimizer : public ::testing::TestWithParam<OpCase> {};
TEST_P(Optimizer, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Optimizer, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace lockstep::testing
