// Gradients that are made smaller: all together, each by itself, element by element, before or
// after the reduce.
#include "builders/clip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const Dims kSmall{1, 6, 6};

constexpr MomentumSgd kPlainSgd{.momentum = 0, .weight_decay = 0, .bias_rate_factor = 1};

// What one step of rate 0.05 moves every parameter by.
std::map<std::string, std::vector<double>> moved(const TrainingModel& model) {
  StateValues before = train(model, 16, 0, kSmall), after = train(model, 16, 1, kSmall);
  std::map<std::string, std::vector<double>> by_name;
  for (const State& state : model.states) {
    if (state.kind == StateKind::momentum) continue;
    const auto a = before.at(state.values[0]).values<float>();
    const auto b = after.at(state.values[0]).values<float>();
    for (std::size_t i = 0; i < a.size(); ++i)
      by_name[state.name].push_back((static_cast<double>(a[i]) - b[i]) / 0.05);
  }
  return by_name;
}

double norm_of(const std::map<std::string, std::vector<double>>& gradients) {
  double square = 0;
  for (const auto& [name, values] : gradients)
    for (double value : values) square += value * value;
  return std::sqrt(square);
}

TEST(Clip, TheNormOfAllGradientsTogether) {
  const auto whole = moved(small_mlp(1, kPlainSgd));
  const double norm = norm_of(whole);
  for (int replicas : {1, 4})
    for (double share : {0.25, 2.0}) {
      const auto limit = static_cast<float>(share * norm);
      const auto clipped = moved(small_mlp(replicas, kPlainSgd, {.clip = {.norm = limit}}));
      EXPECT_NEAR(norm_of(clipped), std::min(1.0, share) * norm, 1e-4 * norm);
      for (const auto& [name, values] : whole)
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(clipped.at(name)[i], values[i] * std::min(1.0, share), 2e-5) << name;
    }
}

TEST(Clip, EveryElementByItself) {
  const auto whole = moved(small_mlp(1, kPlainSgd));
  const auto clipped = moved(small_mlp(2, kPlainSgd, {.clip = {.value = 0.02F}}));
  int touched = 0;
  for (const auto& [name, values] : whole)
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(clipped.at(name)[i], std::clamp(values[i], -0.02, 0.02), 2e-5) << name;
      touched += std::abs(values[i]) > 0.02;
    }
  EXPECT_GT(touched, 10);
}

// With one replica before and after are the same; with more, each share is clipped by itself, and
// the mean of four vectors of norm at most n has norm at most n.
TEST(Clip, BeforeTheReduceEachReplicaByItself) {
  const double norm = norm_of(moved(small_mlp(1, kPlainSgd)));
  const auto limit = static_cast<float>(0.5 * norm);
  auto clipped = [&](int replicas, bool before) {
    return moved(
        small_mlp(replicas, kPlainSgd, {.clip = {.norm = limit, .before_reduce = before}}));
  };
  const auto one_before = clipped(1, true), one_after = clipped(1, false);
  EXPECT_EQ(one_before, one_after);
  const auto four = clipped(4, true);
  EXPECT_LE(norm_of(four), limit * 1.0001);
  EXPECT_LT(norm_of(four), norm_of(clipped(4, false)) * 0.9999) << "shares point elsewhere";
}

// Shares of one and two examples: limits apply to each share's own gradient.
TEST(Clip, BeforeTheReduceWithUnequalShares) {
  for (const ClipOptions clip :
       {ClipOptions{.norm = 0.05F}, ClipOptions{.each_norm = 0.02F}, ClipOptions{.value = 0.01F}}) {
    ClipOptions before = clip;
    before.before_reduce = true;
    const TrainingModel two = small_mlp(2, kPlainSgd, {.weighted = true, .clip = before});
    const TrainingModel one = small_mlp(1, kPlainSgd, {.clip = clip});
    StepFeeds whole(one, 3, 5, kSmall);
    const auto feeds = whole.at(0, 0.05F);
    auto* images = feeds[0].as<float>();
    auto* labels = feeds[1].as<int64_t>();
    std::map<std::string, std::vector<double>> expected;
    Session session(one, cpu_devices(1), all_kernels(), {5, 1, {}});
    session.initialise();
    const StateValues start = session.save();
    for (int64_t share : {0, 1}) {
      session.load(start);
      const int64_t rows = 1 + share;
      const Tensor mine[] = {{{DType::float32, {rows, 1, 6, 6}}, images + share * 36},
                             {{DType::int64, {rows}}, labels + share},
                             feeds[2]};
      session.step().run(mine, session.run_options(0));
      for (const State& state : one.states) {
        if (state.kind == StateKind::momentum) continue;
        const Literal after = session.state().read(state.values[0]);
        const auto first = start.at(state.values[0]).values<float>();
        auto& moved = expected[state.name];
        moved.resize(first.size());
        for (std::size_t i = 0; i < first.size(); ++i)
          moved[i] += static_cast<double>(rows) / 3 * (first[i] - after.values<float>()[i]) / 0.05;
      }
    }
    const StateValues before_step = train(two, 3, 0, kSmall), after = train(two, 3, 1, kSmall);
    for (const auto& [name, moved] : expected)
      for (std::size_t i = 0; i < moved.size(); ++i) {
        const float by = before_step.at("cpu_1/" + name).values<float>()[i] -
                         after.at("cpu_1/" + name).values<float>()[i];
        ASSERT_NEAR(by / 0.05, moved[i], 2e-5) << name << "[" << i << "]";
      }
  }
}

TEST(Clip, EachGradientByItsOwnNorm) {
  const auto whole = moved(small_mlp(1, kPlainSgd));
  std::vector<double> norms;
  for (const auto& [name, values] : whole) norms.push_back(norm_of({{name, values}}));
  std::sort(norms.begin(), norms.end());
  const auto limit = static_cast<float>((norms[2] + norms[3]) / 2);
  for (int replicas : {1, 2}) {
    const auto clipped = moved(small_mlp(replicas, kPlainSgd, {.clip = {.each_norm = limit}}));
    int touched = 0;
    for (const auto& [name, values] : whole) {
      const double norm = norm_of({{name, values}}), factor = std::min(1.0, limit / norm);
      touched += factor < 1;
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(clipped.at(name)[i], factor * values[i], 2e-5) << name;
    }
    EXPECT_EQ(touched, static_cast<int>(whole.size()) - 3);
  }
}

}  // namespace
}  // namespace lockstep::testing
