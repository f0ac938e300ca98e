// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/op.h"
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

// An update rule, reimplemented in double.
struct Formula {
  std::string type;
  Attributes attributes;
  std::size_t slots;
  // Updates the slots. Returns the decrease of a parameter.
  double (*step)(double number, double rate, double g, double* slots);
  bool decouples = false;
};

constexpr double kBeta1 = 0.75, kBeta2 = 0.96875, kRuleEpsilon = 0.001F;

double adam(double t, double rate, double g, double* slots) {
  slots[0] = kBeta1 * slots[0] + (1 - kBeta1) * g;
  slots[1] = kBeta2 * slots[1] + (1 - kBeta2) * g * g;
  return rate * (slots[0] / (1 - std::pow(kBeta1, t))) /
         (std::sqrt(slots[1] / (1 - std::pow(kBeta2, t))) + kRuleEpsilon);
}

// Slots: mean square, momentum, mean.
double rmsprop(double rate, double g, double* slots, double mean) {
  slots[0] = kBeta2 * slots[0] + (1 - kBeta2) * g * g;
  slots[1] = 0.5 * slots[1] + g / (std::sqrt(slots[0] - mean * mean) + kRuleEpsilon);
  return rate * slots[1];
}

std::vector<Formula> formulas() {
  const Attributes betas{{"beta1", 0.75F}, {"beta2", 0.96875F}, {"epsilon", 0.001F}};
  const Attributes alpha{{"alpha", 0.96875F}, {"momentum", 0.5F}, {"epsilon", 0.001F}};
  return {{"AdamUpdate", betas, 2, adam},
          {"AdamWUpdate", betas, 2, adam, true},
          {"RMSPropUpdate", alpha, 2,
           [](double, double rate, double g, double* slots) { return rmsprop(rate, g, slots, 0); }},
          {"CentredRMSPropUpdate", alpha, 3,
           [](double, double rate, double g, double* slots) {
             slots[2] = kBeta2 * slots[2] + (1 - kBeta2) * g;
             return rmsprop(rate, g, slots, slots[2]);
           }},
          {"AdagradUpdate",
           {{"rate_decay", 0.25F}, {"epsilon", 0.001F}},
           1,
           [](double t, double rate, double g, double* slots) {
             slots[0] += g * g;
             return rate / (1 + (t - 1) * 0.25) * g / (std::sqrt(slots[0]) + kRuleEpsilon);
           }},
          {"LionUpdate",
           {{"beta1", 0.75F}, {"beta2", 0.96875F}},
           1,
           [](double, double rate, double g, double* slots) {
             const double mixed = kBeta1 * slots[0] + (1 - kBeta1) * g;
             slots[0] = kBeta2 * slots[0] + (1 - kBeta2) * g;
             return rate * ((mixed > 0) - (mixed < 0));
           },
           true}};
}

// Slots of squares are positive, and the square of a mean is below the mean of squares.
CaseInput slot_of(const Formula& formula, std::size_t slot, const Dims& dims, int seed) {
  const std::size_t squares = formula.step == adam ? 1 : 0;
  if (slot == squares) return positive(dims, seed);
  std::vector<float> halves;
  const CaseInput whole = random(dims, seed);
  for (float value : whole.value.values<float>()) halves.push_back(value / 2);
  return given(Literal::of<float>(halves, dims));
}

// Operands: gradient, slots.., rate, param, number, unless.
OpCase one_update(const std::string& name, const Formula& formula, CaseInput number,
                  int64_t unless) {
  const double t = number.absent ? 1 : number.value.values<float>()[0];
  const std::size_t rate = formula.slots + 1, param = formula.slots + 2;
  const float decay = formula.decouples ? 0.125F : 0;
  OpCase c{.name = name,
           .type = formula.type,
           .domain = kOwnDomain,
           .attributes = formula.attributes,
           .inputs = {random({6})},
           .outputs = static_cast<int>(formula.slots) + 2,
           .gradient = false};
  if (formula.decouples) c.attributes.push_back({"decay", decay});
  for (std::size_t s = 0; s < formula.slots; ++s)
    c.inputs.push_back(slot_of(formula, s, {6}, static_cast<int>(s) + 2));
  c.inputs.insert(c.inputs.end(), {given(one(0.1F)), random({6}, 4), number,
                                   given(Literal::of<int64_t>({{unless}}, {1}))});
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out(in.begin(), in.begin() + static_cast<int64_t>(rate));
    out.push_back(in[param]);
    for (int64_t i = 0; i < 6; ++i) {
      out[0][i] = 0;
      if (unless >= 0) continue;
      double slots[3] = {};
      for (std::size_t s = 0; s < formula.slots; ++s) slots[s] = in[1 + s][i];
      out[0][i] =
          formula.step(t, in[rate][0], in[0][i], slots) + in[rate][0] * decay * in[param][i];
      for (std::size_t s = 0; s < formula.slots; ++s) out[1 + s][i] = slots[s];
      out.back()[i] -= out[0][i];
    }
    return out;
  };
  return c;
}

// Three parameters: one of many blocks, one empty; each with its own factor and decay. Operands:
// slots.., params, gradients, rate, number, unless.
OpCase many_updates(const std::string& name, const Formula& formula, double t, int64_t unless) {
  const std::vector<Dims> dims{{5000, 3}, {0, 4}, {7}};
  const std::vector<float> factors{1, 1, 2}, decays{0.01F, 0, 0.5F};
  const std::size_t params = 3 * formula.slots, gradients = params + 3, rate = gradients + 3;
  OpCase c{.name = name,
           .type = formula.type + "s",
           .domain = kOwnDomain,
           .attributes = formula.attributes,
           .outputs = static_cast<int>(gradients),
           .gradient = false};
  c.attributes.insert(c.attributes.end(), {{"factors", factors}, {"decays", decays}});
  for (std::size_t s = 0; s < formula.slots; ++s)
    for (const Dims& of : dims)
      c.inputs.push_back(slot_of(formula, s, of, static_cast<int>(s) + 1));
  for (int seed : {4, 5})
    for (const Dims& of : dims) c.inputs.push_back(random(of, seed));
  c.inputs.push_back(given(one(0.1F)));
  c.inputs.push_back(given(one(static_cast<float>(t))));
  c.inputs.push_back(given(Literal::of<int64_t>({{unless}}, {1})));
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out(in.begin(), in.begin() + static_cast<int64_t>(gradients));
    for (std::size_t k = 0; k < 3 && unless < 0; ++k)
      for (std::size_t i = 0; i < in[k].values.size(); ++i) {
        double slots[3] = {};
        for (std::size_t s = 0; s < formula.slots; ++s) slots[s] = in[3 * s + k].values[i];
        double& param = out[params + k].values[i];
        const double decay = decays[k] * param, r = in[rate].values[0];
        const double g = factors[k] * in[gradients + k].values[i];
        param -= formula.decouples ? formula.step(t, r, g, slots) + r * decay
                                   : formula.step(t, r, g + decay, slots);
        for (std::size_t s = 0; s < formula.slots; ++s) out[3 * s + k].values[i] = slots[s];
      }
    return out;
  };
  return c;
}

OpCase many_momentum_updates(const std::string& name, bool nesterov, int64_t unless) {
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

std::vector<OpCase> momentum_cases() {
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
  };
}

std::vector<OpCase> single_cases() {
  std::vector<OpCase> cases = momentum_cases();
  for (const Formula& formula : formulas())
    cases.insert(cases.end(), {one_update("first", formula, given(one(1)), -1),
                               one_update("later", formula, given(one(7)), -1),
                               one_update("of_old", formula, given(one(30000)), -1),
                               one_update("not_numbered", formula, left_out(), -1),
                               one_update("skipped", formula, given(one(0)), 3)});
  return cases;
}

// Created when the test runs: each test is a process that creates all tables of its program.
struct LargeCase {
  std::string name;
  std::function<OpCase()> make;
};

std::ostream& operator<<(std::ostream& out, const LargeCase& c) { return out << c.name; }

std::vector<LargeCase> large_cases() {
  std::vector<LargeCase> cases{
      {"MomentumSGDUpdates/plain", [] { return many_momentum_updates("plain", false, -1); }},
      {"MomentumSGDUpdates/nesterov", [] { return many_momentum_updates("nesterov", true, -1); }},
      {"MomentumSGDUpdates/skipped", [] { return many_momentum_updates("skipped", false, 2); }}};
  for (const Formula& formula : formulas()) {
    const auto add = [&](const std::string& name, double t, int64_t unless) {
      cases.push_back(
          {formula.type + "s/" + name, [=] { return many_updates(name, formula, t, unless); }});
    };
    add("first", 1, -1);
    add("later", 12, -1);
    add("skipped", 5, 0);
  }
  return cases;
}

class Optimizer : public ::testing::TestWithParam<OpCase> {};
TEST_P(Optimizer, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Optimizer, ::testing::ValuesIn(single_cases()));

class ManyUpdates : public ::testing::TestWithParam<LargeCase> {};
TEST_P(ManyUpdates, Case) { check_case(GetParam().make()); }
INSTANTIATE_TEST_SUITE_P(Table, ManyUpdates, ::testing::ValuesIn(large_cases()));

}  // namespace
}  // namespace lockstep::testing
