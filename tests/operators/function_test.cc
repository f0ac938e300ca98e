// SPDX-License-Identifier: Apache-2.0
#include "operators/function/function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

double hard_sigmoid(double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }
double softplus(double x) { return std::log1p(std::exp(x)); }
double elu(double x, double a) { return x < 0 ? a * (std::exp(x) - 1) : x; }

OpCase plain(const std::string& type, double (*f)(double), bool from_positive = false) {
  return {.name = "small",
          .type = type,
          .inputs = {from_positive ? positive({3, 5}) : random({3, 5})},
          .reference = elementwise([f](const std::vector<double>& x) { return f(x[0]); })};
}

OpCase with(const std::string& name, const std::string& type, const Attributes& attributes,
            std::function<double(double)> f) {
  return {.name = name,
          .type = type,
          .attributes = attributes,
          .inputs = {random({3, 5})},
          .reference = elementwise([f](const std::vector<double>& x) { return f(x[0]); })};
}

std::vector<OpCase> function_cases() {
  std::vector<OpCase> all{
      plain("Sin", std::sin),
      plain("Cos", std::cos),
      plain("Tan", std::tan),
      plain("Sinh", std::sinh),
      plain("Cosh", std::cosh),
      plain("Atan", std::atan),
      plain("Asinh", std::asinh),
      plain("Erf", std::erf),
      plain("Softplus", softplus),
      plain("Softsign", [](double x) { return x / (1 + std::abs(x)); }),
      plain("HardSwish", [](double x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }),
      plain("Ceil", std::ceil),
      plain("Floor", std::floor),
      plain("Round", std::nearbyint),
      with("default", "LeakyRelu", {}, [](double x) { return x < 0 ? 0.01F * x : x; }),
      with("steep", "LeakyRelu", {{"alpha", 0.3F}}, [](double x) { return x < 0 ? 0.3F * x : x; }),
      with("default", "Elu", {}, [](double x) { return elu(x, 1); }),
      with("double", "Elu", {{"alpha", 2.0F}}, [](double x) { return elu(x, 2); }),
      with("double", "Celu", {{"alpha", 2.0F}}, [](double x) { return x < 0 ? elu(x / 2, 2) : x; }),
      with("default", "Selu", {},
           [](double x) { return 1.05070102214813232421875 * elu(x, 1.67326319217681884765625); }),
      with("default", "HardSigmoid", {}, [](double x) { return hard_sigmoid(x, 0.2F, 0.5F); }),
      with("steep", "HardSigmoid", {{"alpha", 3.0F}, {"beta", 0.4F}},
           [](double x) { return hard_sigmoid(x, 3, 0.4F); }),
      with("low", "ThresholdedRelu", {{"alpha", 0.1F}}, [](double x) { return x > 0.1F ? x : 0; }),
      with("biased", "Shrink", {{"lambd", 0.21F}, {"bias", 0.1F}},
           [](double x) { return x < -0.21F  ? x + 0.1F
                                 : x > 0.21F ? x - 0.1F
                                             : 0; }),
  };
  for (OpCase& c : all) {
    if (c.type == "Ceil" || c.type == "Floor" || c.type == "Round") c.gradient = false;
    // A finite difference across a jump of these functions is not a derivative.
    if (c.type == "ThresholdedRelu" || c.type == "Shrink") c.inputs = {random({3, 3}, 5)};
  }
  // Domains: (-1, 1) for the inverse functions, above 1 for Acosh.
  float inside[] = {-0.8F, -0.3F, 0.1F, 0.7F}, above[] = {1.5F, 2, 3, 4};
  auto at = [&](const std::string& type, float* values, double (*f)(double)) {
    OpCase c = plain(type, f);
    c.inputs = {{Literal::of<float>({values, 4}, {4}), true, false, false}};
    return c;
  };
  all.push_back(at("Asin", inside, std::asin));
  all.push_back(at("Acos", inside, std::acos));
  all.push_back(at("Atanh", inside, std::atanh));
  all.push_back(at("Acosh", above, std::acosh));
  return all;
}

class Functions : public ::testing::TestWithParam<OpCase> {};
TEST_P(Functions, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Functions, ::testing::ValuesIn(function_cases()));

TEST(Functions, EveryOneHasACase) {
  for (const FunctionEntry& entry : function_entries()) {
    auto all = function_cases();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const OpCase& c) {
      return c.type == entry.type;
    })) << entry.type;
  }
}

}  // namespace
}  // namespace lockstep::testing
