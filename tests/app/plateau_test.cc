// SPDX-License-Identifier: Apache-2.0
// SOLVER.LR_POLICY plateau against torch.optim.lr_scheduler.ReduceLROnPlateau of PyTorch 1.13 with
// mode="max". tests/python/check_plateau.py compares both modes with the installed PyTorch.
#include "app/train/plateau.h"

#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

const std::vector<double> kScores{0.1, 0.2, 0.2,     0.20001, 0.15, 0.3, 0.3, 0.25,
                                  0.2, 0.3, 0.30002, 0.31,    0.1,  0.1, 0.1, 0.1,
                                  0.1, 0.1, 0.1,     0.1,     0.5,  0.4, 0.4, 0.4};

struct TorchPlateau {
  PlateauRule rule;
  std::vector<double> rates;  // after each score
};
const TorchPlateau kTorch[] = {
    {{.factor = 0.5, .patience = 1},
     {0.1,       0.1,        0.1,        0.05,       0.05,        0.05,
      0.05,      0.025,      0.025,      0.0125,     0.0125,      0.0125,
      0.0125,    0.00625,    0.00625,    0.003125,   0.003125,    0.0015625,
      0.0015625, 0.00078125, 0.00078125, 0.00078125, 0.000390625, 0.000390625}},
    {{.factor = 0.1, .patience = 2, .cooldown = 2, .least_lr = 0.005},
     {0.1,   0.1,   0.1,   0.1,   0.01,  0.01,  0.01,  0.01,  0.01,  0.005, 0.005, 0.005,
      0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005}},
    {{.factor = 0.5, .patience = 0, .threshold = 0.1},
     {0.1,
      0.1,
      0.05,
      0.025,
      0.0125,
      0.0125,
      0.00625,
      0.003125,
      0.0015625,
      0.00078125,
      0.000390625,
      0.0001953125,
      9.765625e-05,
      4.8828125e-05,
      2.44140625e-05,
      1.22070313e-05,
      6.10351563e-06,
      3.05175781e-06,
      1.52587891e-06,
      7.62939453e-07,
      7.62939453e-07,
      3.81469727e-07,
      1.90734863e-07,
      9.53674316e-08}}};

LrSchedule schedule_by(const PlateauRule& rule) {
  LrSchedule schedule{.policy = "plateau", .base_lr = 0.1, .max_iter = 1000};
  schedule.plateau = rule;
  validate(schedule);
  return schedule;
}

HeldOutTest scored(double score) {
  HeldOutTest test;
  test.score = score;
  return test;
}

// Tests follow iterations 10, 20, ..: the rate of iteration 10 n is the rate after n tests.
TEST(Plateau, FallsWhenPyTorchsDoes) {
  for (const TorchPlateau& torch : kTorch) {
    LrSchedule schedule = schedule_by(torch.rule);
    Plateau plateau(schedule, nullptr);
    for (std::size_t i = 0; i < kScores.size(); ++i) {
      const auto iterations = static_cast<int64_t>(10 * (i + 1));
      const float before = learning_rate(schedule, iterations - 1);
      plateau.tested(scored(kScores[i]), iterations);
      EXPECT_NEAR(learning_rate(schedule, iterations), torch.rates[i], 1e-6 * torch.rates[i]) << i;
      EXPECT_EQ(learning_rate(schedule, iterations - 1), before) << "the past has its rates";
    }
  }
}

// The score of a small loss hardly rises while the loss halves.
TEST(Plateau, ComparesTheMeasuredValue) {
  for (const bool larger_is_better : {false, true}) {
    LrSchedule schedule = schedule_by({.factor = 0.5, .patience = 0});
    Plateau plateau(schedule, nullptr);
    HeldOutTest test = scored(0.5);
    test.larger_is_better = larger_is_better;
    int64_t iterations = 0;
    for (const double value : {1e-4, 5e-5, 4.9999e-5, 5e-5, 2e-5, 3e-5}) {
      test.measured = larger_is_better ? 1 / value : value;
      plateau.tested(test, ++iterations);
    }
    EXPECT_EQ(schedule.drops, (std::vector<int64_t>{3, 4, 6}));
  }
}

TEST(Plateau, CountsATestOnce) {
  LrSchedule schedule = schedule_by({.factor = 0.5, .patience = 0});
  Plateau plateau(schedule, nullptr);
  plateau.tested(scored(0.5), 10);
  for (int i = 0; i < 3; ++i) plateau.tested(scored(0.5), 20);
  EXPECT_EQ(schedule.drops, std::vector<int64_t>{20});
}

TEST(Plateau, KnowsTheTestThatItsCheckpointLacks) {
  LrSchedule first = schedule_by({}), second = schedule_by({});
  Plateau before(first, nullptr), after(second, nullptr);
  before.tested(scored(0.5), 10);
  EXPECT_FALSE(after.lacks(20)) << "it has not gone on from a checkpoint";
  after.go_on_from(before.noted({}), "c");
  EXPECT_FALSE(after.lacks(10));
  EXPECT_TRUE(after.lacks(20));
}

// The drops are the rate's history; the best of another score is not comparable.
TEST(Plateau, ForgetsResultsButNotDrops) {
  LrSchedule schedule = schedule_by({.factor = 0.5, .patience = 0});
  Plateau plateau(schedule, nullptr);
  for (int64_t at : {10, 20}) plateau.tested(scored(0.9), at);
  plateau.forget_results();
  plateau.tested(scored(0.1), 30);
  EXPECT_EQ(schedule.drops, std::vector<int64_t>{20});
  plateau.tested(scored(0.1), 40);
  EXPECT_EQ(schedule.drops, (std::vector<int64_t>{20, 40}));
}

TEST(Plateau, ContinuesFromItsTextAtAnyTest) {
  for (const TorchPlateau& torch : kTorch)
    for (std::size_t cut = 0; cut < kScores.size(); ++cut) {
      LrSchedule first = schedule_by(torch.rule), second = schedule_by(torch.rule);
      Plateau before(first, nullptr), after(second, nullptr);
      for (std::size_t i = 0; i < kScores.size(); ++i) {
        if (i == cut) after.go_on_from(before.noted({}), "c");
        (i < cut ? before : after).tested(scored(kScores[i]), static_cast<int64_t>(i + 1));
      }
      EXPECT_NEAR(learning_rate(second, 100), torch.rates.back(), 1e-6 * torch.rates.back());
    }
}

TEST(Plateau, IsEqualOnAllProcesses) {
  std::mutex mutex;
  std::vector<std::vector<int64_t>> drops;
  run_ranks(2, [&](Comm& comm) {
    LrSchedule schedule = schedule_by(kTorch[0].rule);
    Plateau plateau(schedule, &comm);
    for (std::size_t i = 0; i < kScores.size(); ++i)
      plateau.tested(scored(comm.rank() == 0 ? kScores[i] : 0), static_cast<int64_t>(i + 1));
    std::lock_guard lock(mutex);
    drops.push_back(schedule.drops);
  });
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(drops[0], drops[1]);
  EXPECT_EQ(drops[0].size(), 8u);
}

TEST(Plateau, CountsATestWithoutAScoreAsNoBetter) {
  LrSchedule schedule = schedule_by({.factor = 0.5, .patience = 1});
  Plateau plateau(schedule, nullptr);
  HeldOutTest bad = scored(1);
  bad.trouble = "the held-out loss is nan";
  plateau.tested(bad, 1);
  plateau.tested(scored(std::numeric_limits<double>::quiet_NaN()), 2);
  EXPECT_EQ(schedule.drops, std::vector<int64_t>{2});
}

TEST(Plateau, LeavesOtherPoliciesAlone) {
  LrSchedule schedule{.policy = "step"};
  Plateau plateau(schedule, nullptr);
  for (int64_t i = 0; i < 50; ++i) plateau.tested(scored(0), i);
  EXPECT_TRUE(schedule.drops.empty());
  EXPECT_TRUE(plateau.noted({}).empty());
}

TEST(Plateau, NamesTheFileOfADamagedState) {
  LrSchedule schedule = schedule_by({});
  Plateau plateau(schedule, nullptr);
  for (const char* text : {"", "{}", "[]", R"({"best": "x"})"})
    expect_error(
        [&] {
          plateau.go_on_from({{"plateau", text}}, "run/c.safetensors");
        },
        "run/c.safetensors: its metadata 'plateau' is damaged");
}

}  // namespace
}  // namespace lockstep::testing
