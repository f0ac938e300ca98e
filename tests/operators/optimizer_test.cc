#include <gtest/gtest.h>

#include <cmath>

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

// One step of Adam, the t-th: m, v and the parameter become new ones; what is subtracted.
double adam(double t, double rate, double g, double& m, double& v, double& param) {
  const double beta1 = 0.75, beta2 = 0.96875F, epsilon = 0.001F;
  m = beta1 * m + (1 - beta1) * g;
  v = beta2 * v + (1 - beta2) * g * g;
  const double step =
      rate * (m / (1 - std::pow(beta1, t))) / (std::sqrt(v / (1 - std::pow(beta2, t))) + epsilon);
  param -= step;
  return step;
}

const Attributes kAdam{{"beta1", 0.75F}, {"beta2", 0.96875F}, {"epsilon", 0.001F}};

OpCase one_adam(const std::string& name, CaseInput number, int64_t unless) {
  const double t = number.absent ? 1 : number.value.values<float>()[0];
  return {.name = name,
          .type = "AdamUpdate",
          .domain = kOwnDomain,
          .attributes = kAdam,
          .inputs = {random({6}), random({6}, 2), positive({6}, 3), given(one(0.1F)),
                     random({6}, 4), number, given(Literal::of<int64_t>({{unless}}, {1}))},
          .outputs = 4,
          .reference =
              [=](const std::vector<Doubles>& in) {
                std::vector<Doubles> out{in[0], in[1], in[2], in[4]};
                for (int64_t i = 0; i < 6; ++i)
                  out[0][i] = unless >= 0
                                  ? 0
                                  : adam(t, in[3][0], in[0][i], out[1][i], out[2][i], out[3][i]);
                return out;
              },
          .gradient = false};
}

OpCase many_adams(const std::string& name, double t, int64_t unless) {
  const std::vector<Dims> dims{{5000, 3}, {0, 4}, {7}};
  const std::vector<float> factors{1, 1, 2}, decays{0.01F, 0, 0.5F};
  OpCase c{.name = name,
           .type = "AdamUpdates",
           .domain = kOwnDomain,
           .attributes = kAdam,
           .outputs = 9,
           .gradient = false};
  c.attributes.insert(c.attributes.end(), {{"factors", factors}, {"decays", decays}});
  for (int seed : {1, 2, 3, 4})
    for (const Dims& of : dims) c.inputs.push_back(seed == 2 ? positive(of, 2) : random(of, seed));
  c.inputs.push_back(given(one(0.1F)));
  c.inputs.push_back(given(one(static_cast<float>(t))));
  c.inputs.push_back(given(Literal::of<int64_t>({{unless}}, {1})));
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out(in.begin(), in.begin() + 9);
    for (std::size_t k = 0; k < 3 && unless < 0; ++k)
      for (std::size_t i = 0; i < in[k].values.size(); ++i) {
        double& param = out[6 + k].values[i];
        adam(t, in[12].values[0], factors[k] * in[9 + k].values[i] + decays[k] * param,
             out[k].values[i], out[3 + k].values[i], param);
      }
    return out;
  };
  return c;
}

// Three parameters, one of many blocks, one empty; each with a factor and a decay of its own.
OpCase many_updates(const std::string& name, bool nesterov, int64_t unless) {
  const std::vector<Dims> dims{{5000, 3}, {0, 4}, {7}};
  const std::vector<float> factors{1, 1, 2}, decays{0.01F, 0, 0.5F};
  OpCase c{.name = name,
           .type = "MomentumSGDUpdates",
           .domain = kOwnDomain,
           .attributes = {{"momentum", 0.9F},
                          {"nesterov", int64_t{nesterov}},
                          {"factors", factors},
                          {"decays", decays}},
           .outputs = 6,
           .gradient = false};
  for (int seed : {1, 2, 3})
    for (const Dims& of : dims) c.inputs.push_back(random(of, seed));
  c.inputs.push_back(random({1}, 4));
  c.inputs.push_back(random({1}, 5));
  c.inputs.push_back(given(Literal::of<int64_t>({{unless}}, {1})));
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out(in.begin(), in.begin() + 6);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < in[k].values.size(); ++i) {
        const double param = in[3 + k].values[i];
        const double slope = factors[k] * in[6 + k].values[i] + decays[k] * param;
        const double old = in[10].values[0] * in[k].values[i];
        if (unless >= 0) {  // the rate has jumped, though the step is skipped
          out[k].values[i] = old;
          continue;
        }
        const double fresh = 0.9F * old + in[9].values[0] * slope;
        out[k].values[i] = fresh;
        out[3 + k].values[i] = param - (nesterov ? (1 + 0.9F) * fresh - 0.9F * old : fresh);
      }
    return out;
  };
  return c;
}

std::vector<OpCase> optimizer_cases() {
  return {
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
      {.name = "skipped",
       .type = "MomentumSGDUpdate",
       .domain = kOwnDomain,
       .attributes = {{"momentum", 0.9F}},
       .inputs = {random({6}), random({6}, 2), given(one(0.1F)), random({6}, 3), given(one(0.25F)),
                  given(Literal::of<int64_t>({{0}}, {1}))},
       .outputs = 3,
       .reference =
           [](const std::vector<Doubles>& in) {
             std::vector<Doubles> out{in[0], in[1], in[3]};
             for (double& step : out[0].values) step = 0;
             for (double& momentum : out[1].values) momentum *= 0.25;
             return out;
           },
       .gradient = false},
      many_updates("plain", false, -1),
      many_updates("nesterov", true, -1),
      many_updates("skipped", false, 2),
      one_adam("first", given(one(1)), -1),
      one_adam("later", given(one(7)), -1),
      one_adam("of_old", given(one(30000)), -1),
      one_adam("not_numbered", left_out(), -1),
      one_adam("skipped", given(one(0)), 3),
      many_adams("first", 1, -1),
      many_adams("later", 12, -1),
      many_adams("skipped", 5, 0),
  };
}

class Optimizer : public ::testing::TestWithParam<OpCase> {};
TEST_P(Optimizer, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Optimizer, ::testing::ValuesIn(optimizer_cases()));

}  // namespace
}  // namespace lockstep::testing
