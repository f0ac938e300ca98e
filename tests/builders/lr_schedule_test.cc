// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

LrSchedule plain(const std::string& policy) {
  LrSchedule schedule;
  schedule.policy = policy;
  schedule.base_lr = 0.1;
  schedule.gamma = 0.1;
  schedule.max_iter = 100;
  return schedule;
}

TEST(LrSchedule, Step) {
  LrSchedule s = plain("step");
  s.step_size = 30;
  EXPECT_FLOAT_EQ(learning_rate(s, 0), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate(s, 29), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate(s, 30), 0.01F);
  EXPECT_FLOAT_EQ(learning_rate(s, 99), 0.0001F);
}

TEST(LrSchedule, StepsWithDecay) {
  LrSchedule s = plain("steps_with_decay");
  s.steps = {0, 60, 80};
  EXPECT_FLOAT_EQ(learning_rate(s, 59), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate(s, 60), 0.01F);
  EXPECT_FLOAT_EQ(learning_rate(s, 80), 0.001F);
  EXPECT_FLOAT_EQ(learning_rate(s, 99), 0.001F);
}

TEST(LrSchedule, StepsWithLrs) {
  LrSchedule s = plain("steps_with_lrs");
  s.steps = {0, 60, 80};
  s.lrs = {0.02, 0.3, 0.004};
  EXPECT_FLOAT_EQ(learning_rate(s, 0), 0.02F);
  EXPECT_FLOAT_EQ(learning_rate(s, 79), 0.3F);
  EXPECT_FLOAT_EQ(learning_rate(s, 80), 0.004F);
}

TEST(LrSchedule, Cosine) {
  LrSchedule s = plain("cosine_decay");
  EXPECT_FLOAT_EQ(learning_rate(s, 0), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate(s, 50), 0.05F);
  EXPECT_NEAR(learning_rate(s, 99), 0.1 * 0.5 * (std::cos(M_PI * 0.99) + 1), 1e-9);
}

TEST(LrSchedule, ExponentialEndsAtGamma) {
  LrSchedule s = plain("exp_decay");
  EXPECT_FLOAT_EQ(learning_rate(s, 0), 0.1F);
  EXPECT_NEAR(learning_rate(s, 50), 0.1 * std::sqrt(0.1), 1e-7);
  EXPECT_NEAR(learning_rate(s, 100), 0.01, 1e-8);
}

// The rates of PyTorch 1.13's schedulers for 20 iterations from a rate of 0.1.
struct TorchRates {
  const char* name;
  LrSchedule schedule;
  std::vector<double> rates;
};
std::vector<TorchRates> torch_rates() {
  const auto by = [](const char* policy, OneCycle cycle = {}, double power = 1) {
    LrSchedule schedule = plain(policy);
    schedule.max_iter = 20;
    schedule.one_cycle = cycle;
    schedule.power = power;
    return schedule;
  };
  return {
      {"OneCycleLR", by("one_cycle"), {0.004,        0.0131671843, 0.0371671843,  0.0668328157,
                                       0.0908328157, 0.1,          0.0987464006,  0.0950484632,
                                       0.0890916178, 0.0811745654, 0.0716943002,  0.0611262022,
                                       0.0500002,    0.0388741978, 0.0283060998,  0.0188258346,
                                       0.0109087822, 0.0049519368, 0.00125399938, 4e-07}},
      {"OneCycleLR, linear, three phases",
       by("one_cycle",
          {.start = 0.4, .divisor = 10, .last_divisor = 100, .linear = true, .three_phases = true}),
       {0.01, 0.0228571429, 0.0357142857, 0.0485714286, 0.0614285714, 0.0742857143, 0.0871428571,
        0.1,  0.0871428571, 0.0742857143, 0.0614285714, 0.0485714286, 0.0357142857, 0.0228571429,
        0.01, 0.00802,      0.00604,      0.00406,      0.00208,      0.0001}},
      {"OneCycleLR, three phases",
       by("one_cycle", {.start = 0.25, .divisor = 4, .last_divisor = 1000, .three_phases = true}),
       {0.025,         0.0359834957,  0.0625,        0.0890165043,   0.1,
        0.0890165043,  0.0625,        0.0359834957,  0.025,          0.0244941685,
        0.0230176535,  0.0206900734,  0.017699995,   0.0142896565,   0.0107353435,
        0.00732500503, 0.00433492658, 0.00200734651, 0.000530831492, 2.5e-05}},
      {"PolynomialLR",
       by("polynomial_decay", {}, 0.9),
       {0.1,          0.0954885382, 0.0909532576, 0.0863926972, 0.0818052146,
        0.0771889507, 0.0725417847, 0.0678612759, 0.0631445867, 0.0583883793,
        0.0535886731, 0.0487406439, 0.0438383291, 0.0388741799, 0.0338383462,
        0.0287174589, 0.0234923789, 0.0181335207, 0.0125892541, 0.00674641424}},
      {"PolynomialLR of squares",
       by("polynomial_decay", {}, 2),
       {0.1,   0.09025, 0.081, 0.07225, 0.064, 0.05625, 0.049, 0.04225, 0.036, 0.03025,
        0.025, 0.02025, 0.016, 0.01225, 0.009, 0.00625, 0.004, 0.00225, 0.001, 0.00025}}};
}

TEST(LrSchedule, HasPyTorchsRates) {
  for (const TorchRates& torch : torch_rates()) {
    validate(torch.schedule);
    for (std::size_t i = 0; i < torch.rates.size(); ++i)
      EXPECT_NEAR(learning_rate(torch.schedule, static_cast<int64_t>(i)), torch.rates[i],
                  1e-7 + 1e-6 * torch.rates[i])
          << torch.name << " at " << i;
  }
}

// The drops are data of the schedule; tests of a run append them (tests/app/plateau_test.cc).
TEST(LrSchedule, OfAPlateauFallsAtItsDrops) {
  LrSchedule s = plain("plateau");
  s.plateau.least_lr = 0.002;
  s.drops = {10, 20};
  EXPECT_FLOAT_EQ(learning_rate(s, 9), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate(s, 10), 0.01F);
  EXPECT_FLOAT_EQ(learning_rate(s, 20), 0.002F);
  EXPECT_FLOAT_EQ(momentum_correction(s, 10), 0.1F);
}

TEST(LrSchedule, NamesNumbersThatMakeNoCycle) {
  const auto refused = [](const char* policy, const auto& change, const char* text) {
    LrSchedule s = plain(policy);
    change(s);
    expect_error([&] { validate(s); }, text);
  };
  refused(
      "one_cycle", [](LrSchedule& s) { s.one_cycle.start = 1; }, "ONE_CYCLE_START is 1");
  refused(
      "one_cycle", [](LrSchedule& s) { s.one_cycle = {.start = 0.75, .three_phases = true}; },
      "ONE_CYCLE_THREE_PHASES is true");
  refused(
      "one_cycle", [](LrSchedule& s) { s.one_cycle.divisor = 0; }, "ONE_CYCLE_DIVISOR is 0");
  refused(
      "plateau", [](LrSchedule& s) { s.plateau.factor = 1; }, "PLATEAU_FACTOR is 1");
}

TEST(LrSchedule, WarmUp) {
  LrSchedule s = plain("step");
  s.warm_up_iters = 10;
  s.warm_up_factor = 0.2;
  EXPECT_FLOAT_EQ(learning_rate(s, 0), 0.02F);
  EXPECT_FLOAT_EQ(learning_rate(s, 5), static_cast<float>(0.1 * (0.2 * 0.5 + 0.5)));
  EXPECT_FLOAT_EQ(learning_rate(s, 10), 0.1F);
  s.warm_up_method = "constant";
  EXPECT_FLOAT_EQ(learning_rate(s, 9), 0.02F);
  EXPECT_FLOAT_EQ(learning_rate(s, 10), 0.1F);
}

TEST(LrSchedule, NamesWhatDoesNotFit) {
  auto with = [](auto change) {
    LrSchedule s = plain("steps_with_decay");
    s.steps = {0, 5};
    change(s);
    return [s] { validate(s); };
  };
  expect_error(with([](auto& s) { s.policy = "steps_with_decai"; }), "steps_with_decai",
               "did you mean 'steps_with_decay'");
  expect_error(with([](auto& s) { s.steps = {}; }), "STEPS", "begin with 0");
  expect_error(with([](auto& s) { s.steps = {5, 10}; }), "STEPS", "begin with 0");
  expect_error(with([](auto& s) { s.steps = {0, 10, 7}; }), "STEPS", "ascend");
  expect_error(with([](auto& s) { s.policy = "steps_with_lrs"; }), "LRS has 0 entries for 2 STEPS");
  expect_error(with([](auto& s) { s.max_iter = 0; }), "MAX_ITER is 0");
  expect_error(with([](auto& s) { s.warm_up_method = "quick"; }), "WARM_UP_METHOD is 'quick'");
  const auto infinite = [&](const char* key, const char* iteration, auto change) {
    expect_error(with([&](auto& s) {
                   s.max_iter = 100;
                   change(s);
                 }),
                 key, "the rate of iteration ", iteration, " is more than a float holds");
  };
  infinite("GAMMA", "5", [](auto& s) { s.gamma = 1e300; });
  infinite("GAMMA", "60", [](auto& s) { s.steps = {0, 5, 60}, s.gamma = 1e30; });
  infinite("GAMMA", "99", [](auto& s) { s.policy = "step", s.step_size = 1, s.gamma = 10; });
  infinite("WARM_UP_FACTOR is 1e+300", "0",
           [](auto& s) { s.warm_up_iters = 5, s.warm_up_factor = 1e300; });
  EXPECT_NO_THROW(with([](auto& s) { s.steps = {0, 5, 60}, s.gamma = 1e30, s.max_iter = 60; })());
  expect_error(with([](auto& s) { s.base_lr = 1e39; }), "BASE_LR is 1e+39");
}

// Detectron's ratio: the larger of two rates divided by the smaller, where 1e-10 replaces a rate of
// 0.
TEST(LrSchedule, ChangeOfTheRate) {
  LrSchedule s = plain("steps_with_lrs");
  s.steps = {0, 1, 2, 3, 4, 5};
  s.lrs = {0.1, 0.1, 0.02, 0.06, 0, 0};
  EXPECT_EQ(rate_change(s, 0), 1) << "no previous rate";
  EXPECT_EQ(rate_change(s, 1), 1);
  EXPECT_NEAR(rate_change(s, 2), 5, 1e-5);
  EXPECT_NEAR(rate_change(s, 3), 3, 1e-5);
  EXPECT_NEAR(rate_change(s, 4), 6e8, 1e3);
  EXPECT_LE(rate_change(s, 5), 1) << "from 0 to 0";
}

TEST(MomentumCorrection, FollowsJumpsOfTheRateOnly) {
  LrSchedule schedule{.policy = "steps_with_decay",
                      .base_lr = 0.1,
                      .gamma = 0.1,
                      .steps = {0, 10, 20},
                      .max_iter = 30,
                      .warm_up_iters = 5};
  for (int64_t i = 0; i < 30; ++i) {
    const float expected = i == 10 || i == 20 ? 0.1F : 1.F;
    if (i > 5) {
      EXPECT_NEAR(momentum_correction(schedule, i), expected, 1e-6) << i;
    }
  }
  schedule.warm_up_iters = 500;  // each change is below the threshold
  schedule.max_iter = 1000;
  schedule.steps = {0};
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(momentum_correction(schedule, i), 1.F) << i;
  schedule.scale_momentum = false;
  schedule.steps = {0, 3};
  EXPECT_EQ(momentum_correction(schedule, 3), 1.F);
  LrSchedule from_nothing{
      .policy = "steps_with_lrs", .steps = {0, 3}, .lrs = {0, 0.1}, .max_iter = 10};
  EXPECT_EQ(momentum_correction(from_nothing, 3), 1.F) << "the momentum is still 0";
}

}  // namespace
}  // namespace lockstep::testing
