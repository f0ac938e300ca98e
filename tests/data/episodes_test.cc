// SPDX-License-Identifier: Apache-2.0
// Environments, rollouts and advantages, compared with numbers computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "data/episodes/advantages.h"
#include "data/episodes/cart_pole.h"
#include "lockstep/episodes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12) << i;
}

TEST(CartPole, MovesAsItsEquationsSay) {
  CartPole world;
  const std::vector<double> first{0.1, -0.2, 0.05, 0.3};
  world.restore(first);
  EXPECT_FALSE(world.move(1).over);
  expect_near(world.state(), {0.096, -0.005625065781779709, 0.056, 0.02349585151852651});
  world.move(0);
  const Environment::Moved third = world.move(0);
  expect_near(world.state(),
              {0.09185742806790102, -0.39738184962928536, 0.06313608421999684, 0.6432508253888286});
  EXPECT_EQ(third.reward, 1);
  std::vector<float> seen(4);
  world.observe(seen);
  EXPECT_EQ(seen[1], static_cast<float>(world.state()[1]));
}

TEST(CartPole, FailsBeyondTwelveDegreesAndAtTheEndsOfTheTrack) {
  CartPole world;
  world.restore(std::vector<double>{0, 0, 0, 0});
  int steps = 0;
  Environment::Moved moved;
  do moved = world.move(1), ++steps;
  while (!moved.over);
  EXPECT_EQ(steps, 9);  // pushed to one side at every step
  EXPECT_EQ(moved.reward, 1);
  EXPECT_LT(world.state()[2], -CartPole::kMostAngle);
  world.restore(std::vector<double>{2.39, 0.4, 0, 0});
  EXPECT_FALSE(world.move(0).over);  // the position is 2.398
  world.restore(std::vector<double>{-2.39, -0.6, 0, 0});
  EXPECT_TRUE(world.move(1).over);
}

TEST(CartPole, AnotherActionIsNamed) {
  CartPole world;
  expect_error([&] { world.move(2); }, "cart_pole: action 2, should be 0 or 1");
}

TEST(EnvironmentNames, AMisspeltOneIsNamed) {
  expect_error([] { environment_named("cart_pol"); }, "there is no environment 'cart_pol'",
               "did you mean 'cart_pole'? Known: cart_pole");
  expect_error([] { environment_named("foo"); }, "there is no environment 'foo'; known: cart_pole");
}

// An environment with known numbers. Its observation counts the steps; action 1 ends the episode.
class Counter final : public Environment {
 public:
  void begin(PhiloxSequence&) override { steps_ = 0; }
  Moved move(int64_t action) override {
    ++steps_;
    return {steps_, action == 1};
  }
  void observe(std::span<float> values) const override { values[0] = static_cast<float>(steps_); }
  std::vector<double> state() const override { return {steps_}; }
  void restore(std::span<const double> state) override { steps_ = state[0]; }

 private:
  double steps_ = 0;
};

EnvironmentKind counter() {
  return {.name = "counter",
          .observations = 1,
          .actions = 2,
          .states = 1,
          .time_limit = 3,
          .most_return = 6,
          .make = []() -> std::unique_ptr<Environment> { return std::make_unique<Counter>(); }};
}

TEST(Environments, EndedEpisodesAreToldAndBeginAnew) {
  Environments two(counter(), {.count = 2});
  auto steps = two.step(std::vector<int64_t>{0, 1});
  EXPECT_FALSE(steps[0].ended());
  EXPECT_TRUE(steps[1].over);
  EXPECT_EQ(std::vector<float>(two.observations().begin(), two.observations().end()),
            (std::vector<float>{1, 0}));
  EXPECT_EQ(std::vector<float>(two.reached().begin(), two.reached().end()),
            (std::vector<float>{1, 1}));
  ASSERT_EQ(two.ended().size(), 1u);
  EXPECT_EQ(two.ended()[0].environment, 1);
  two.step(std::vector<int64_t>{0, 0});
  steps = two.step(std::vector<int64_t>{0, 0});
  EXPECT_TRUE(steps[0].cut);  // by the time limit
  EXPECT_FALSE(steps[0].over);
  ASSERT_EQ(two.ended().size(), 1u);
  EXPECT_EQ(two.ended()[0].sum, 1 + 2 + 3);
  EXPECT_TRUE(two.ended()[0].cut);
  // At the time limit, an end by the environment counts as an end.
  Environments one(counter(), {});
  one.step(std::vector<int64_t>{0});
  one.step(std::vector<int64_t>{0});
  steps = one.step(std::vector<int64_t>{1});
  EXPECT_TRUE(steps[0].over);
  EXPECT_FALSE(steps[0].cut);
}

TEST(Environments, DependOnTheirNumberAlone) {
  const EnvironmentKind kind = cart_pole();
  Environments all(kind, {.seed = 7, .count = 4}), last(kind, {.seed = 7, .first = 2, .count = 2});
  Environments held_out(kind, {.seed = 7, .held_out = true, .count = 4});
  for (int step = 0; step < 60; ++step) {
    EXPECT_TRUE(std::equal(last.observations().begin(), last.observations().end(),
                           all.observations().begin() + 8));
    EXPECT_NE(all.state(0), all.state(1));
    EXPECT_NE(all.state(0), held_out.state(0));
    const int64_t to = step / 7 % 2;
    all.step(std::vector<int64_t>(4, to));
    last.step(std::vector<int64_t>(2, to));
    held_out.step(std::vector<int64_t>(4, to));
  }
}

TEST(Environments, GoOnFromTheirTextBitForBit) {
  const EnvironmentKind kind = cart_pole();
  Environments whole(kind, {.seed = 3, .count = 3}), again(kind, {.seed = 3, .count = 3});
  const auto step = [](Environments& all, int number) {
    all.step(std::vector<int64_t>{number % 2, number / 3 % 2, number / 2 % 2});
  };
  for (int i = 0; i < 37; ++i) step(whole, i);
  again.restore(whole.text());
  EXPECT_EQ(again.text(), whole.text());
  for (int i = 37; i < 100; ++i) {
    step(whole, i);
    step(again, i);
  }
  EXPECT_EQ(again.text(), whole.text());
  EXPECT_EQ(again.ended().size(), whole.ended().size());
}

TEST(Environments, AnotherTextIsRefused) {
  const EnvironmentKind kind = cart_pole();
  Environments two(kind, {.count = 2});
  Environments other(kind, {.first = 1, .count = 2});
  expect_error([&] { two.restore(other.text()); }, "cart_pole number 0 is '1 ");
  expect_error([&] { two.restore("0 0 0 0 1 2 3\n"); }, "number 0", "should be its number");
  expect_error([&] { two.restore("0 0 600 0 1 2 3 4\n"); }, "number 0 is '0 0 600");
  expect_error([&] { two.restore("0 0 0 0 1 2 3 nan 5\n"); }, "number 0");
  expect_error([&] { two.restore(""); }, "number 0 is ''");
  expect_error([&] { two.step(std::vector<int64_t>{0}); }, "1 actions for 2 environments");
}

// discount 0.5, lambda 0.5: each advantage is its surprise plus a quarter of the next advantage.
TEST(Advantages, AreSurprisesAhead) {
  const std::vector<double> rewards{1, 2, 3, 4};
  const std::vector<float> values{4, 8, 2, 6}, next{8, 0, 6, 10};  // environment 1 ended
  const bool ends[] = {false, true, false, false};
  std::vector<float> advantages(4);
  generalised_advantages({rewards, values, next, ends}, {.discount = 0.5, .lambda = 0.5},
                         advantages);
  // surprises: 1 + 4 - 4, 2 - 8, 3 + 3 - 2, 4 + 5 - 6
  EXPECT_EQ(advantages, (std::vector<float>{1 - 6 / 4.F, -6, 4 + 3 / 4.F, 3}));
}

TEST(Advantages, OfUnequalNumbersAreRefused) {
  const std::vector<double> rewards{1, 2};
  const std::vector<float> values{4}, next{8, 0};
  const bool ends[] = {false, true};
  std::vector<float> advantages(2);
  expect_error(
      [&] {
        generalised_advantages({rewards, values, next, ends}, {}, advantages);
      },
      "advantages of 2 rewards: there are 1 values");
}

// Predicts ten times the observation as its value, and the end of the episode with probability
// `end`.
class TenTimes final : public Predictor {
 public:
  TenTimes(std::size_t rows, float end) : log_(2 * rows), values_(rows), end_(end) {}
  Predicted predict(std::span<const float> observations) override {
    ++calls;
    for (std::size_t row = 0; row < values_.size(); ++row) {
      log_[2 * row] = std::log(1 - end_);
      log_[2 * row + 1] = std::log(end_);
      values_[row] = 10 * observations[row];
    }
    return {log_, values_};
  }
  int calls = 0;

 private:
  std::vector<float> log_, values_;
  float end_;
};

// If the time limit cuts an episode, the value of the last observation replaces the missing
// rewards. If the episode is over, nothing does.
TEST(Rollout, BootstrapsTimeLimits) {
  Environments one(counter(), {.count = 1});
  TenTimes policy(1, 1e-12F);  // never ends the episode
  Collector collector(one, policy, {.steps = 4, .advantages = {.discount = 1, .lambda = 0}});
  const Rollout& rollout = collector.collect(0);
  EXPECT_EQ(rollout.observations, (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(rollout.values, (std::vector<float>{0, 10, 20, 0}));
  // reward + value of the next observation - value. The third step reached 3, not 0.
  EXPECT_EQ(rollout.advantages, (std::vector<float>{1 + 10, 2 + 20 - 10, 3 + 30 - 20, 1 + 10}));
  EXPECT_EQ(policy.calls, 4 + 2);  // each step, the time limit, and the last step
  TenTimes ending(1, 1 - 1e-7F);
  Environments another(counter(), {.count = 1});
  Collector ends(another, ending, {.steps = 2, .advantages = {.discount = 1, .lambda = 0}});
  EXPECT_EQ(ends.collect(0).advantages, (std::vector<float>{1, 1}));
  EXPECT_EQ(ends.collect(1).episodes.size(), 2u);
}

TEST(Rollout, DrawsActionsAsLikelyAsTheyAre) {
  Environments many(counter(), {.count = 50});
  TenTimes policy(50, 0.3F);
  Collector collector(many, policy, {.steps = 200});
  const Rollout& rollout = collector.collect(0);
  double ended = 0;
  for (std::size_t row = 0; row < rollout.actions.size(); ++row) {
    ended += static_cast<double>(rollout.actions[row]);
    EXPECT_EQ(rollout.log_probabilities[row], std::log(rollout.actions[row] ? 0.3F : 1 - 0.3F));
  }
  EXPECT_NEAR(ended / 10000, 0.3, 0.02);
}

// A subset of the environments and a run that resumes between two rollouts draw the same numbers.
TEST(Rollout, DependsOnNumbersAlone) {
  const EnvironmentKind kind = counter();
  Environments all(kind, {.seed = 5, .count = 4}), part(kind, {.seed = 5, .first = 3, .count = 1});
  TenTimes of_all(4, 0.4F), of_part(1, 0.4F);
  Collector whole(all, of_all, {.steps = 8, .seed = 5}),
      own(part, of_part, {.steps = 8, .seed = 5});
  for (int64_t number = 0; number < 3; ++number) {
    const Rollout &a = whole.collect(number), &b = own.collect(number);
    EXPECT_EQ(std::vector<int64_t>(a.actions.begin() + 24, a.actions.end()), b.actions);
    EXPECT_EQ(std::vector<float>(a.advantages.begin() + 24, a.advantages.end()), b.advantages);
  }
  Environments resumed(kind, {.seed = 5, .first = 3, .count = 1});
  resumed.restore(part.text());
  Collector anew(resumed, of_part, {.steps = 8, .seed = 5});
  const std::vector<int64_t> expected = own.collect(3).actions;
  EXPECT_EQ(anew.collect(3).actions, expected);
}

TEST(Greedy, PlaysOneEpisodeOfEachAndKeepsAFilmOfTheFirst) {
  TenTimes careful(3, 0.4F), hasty(3, 0.6F);
  const GreedyResult whole = play_greedily(counter(), careful, {.first = 2, .count = 3});
  ASSERT_EQ(whole.episodes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(whole.episodes[i].environment, static_cast<int64_t>(i) + 2);
    EXPECT_EQ(whole.episodes[i].sum, 6);
    EXPECT_TRUE(whole.episodes[i].cut);
  }
  EXPECT_EQ(whole.film, (std::vector<std::vector<double>>{{0}, {1}, {2}}));
  EXPECT_EQ(play_greedily(counter(), hasty, {.count = 3}).episodes[2].steps, 1);
}

}  // namespace
}  // namespace lockstep::testing
