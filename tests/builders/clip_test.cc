// SPDX-License-Identifier: Apache-2.0
// Clipped gradients: by the norm of all, by each norm, or by element, before or after the reduce.
#include "builders/step/clip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr MomentumSgd kPlainSgd{.momentum = 0};
constexpr ParamRules kNoRules{.weight_decay = 0, .bias_rate_factor = 1};

// The change of every parameter in one step of rate 0.05.
std::map<std::string, std::vector<double>> moved(const TrainingModel& model) {
  StateValues before = train(model, 16, 0, kSmall), after = train(model, 16, 1, kSmall);
  std::map<std::string, std::vector<double>> by_name;
  for (const State& state : model.states) {
    if (is_slot(state.kind)) continue;
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
  const auto whole = moved(small_mlp(1, kPlainSgd, {.rules = kNoRules}));
  const double norm = norm_of(whole);
  for (int replicas : {1, 4})
    for (double share : {0.25, 2.0}) {
      const auto limit = static_cast<float>(share * norm);
      const auto clipped =
          moved(small_mlp(replicas, kPlainSgd, {.rules = kNoRules, .clip = {.norm = limit}}));
      EXPECT_NEAR(norm_of(clipped), std::min(1.0, share) * norm, 1e-4 * norm);
      for (const auto& [name, values] : whole)
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(clipped.at(name)[i], values[i] * std::min(1.0, share), 2e-5) << name;
    }
}

TEST(Clip, EveryElementByItself) {
  const auto whole = moved(small_mlp(1, kPlainSgd, {.rules = kNoRules}));
  const auto clipped =
      moved(small_mlp(2, kPlainSgd, {.rules = kNoRules, .clip = {.value = 0.02F}}));
  int touched = 0;
  for (const auto& [name, values] : whole)
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(clipped.at(name)[i], std::clamp(values[i], -0.02, 0.02), 2e-5) << name;
      touched += std::abs(values[i]) > 0.02;
    }
  EXPECT_GT(touched, 10);
}

// With one replica, before and after are the same. With more, each share is clipped separately, and
// the mean of four vectors of norm at most n has norm at most n.
TEST(Clip, BeforeTheReduceEachReplicaByItself) {
  const double norm = norm_of(moved(small_mlp(1, kPlainSgd, {.rules = kNoRules})));
  const auto limit = static_cast<float>(0.5 * norm);
  auto clipped = [&](int replicas, bool before) {
    return moved(small_mlp(replicas, kPlainSgd,
                           {.rules = kNoRules, .clip = {.norm = limit, .before_reduce = before}}));
  };
  const auto one_before = clipped(1, true), one_after = clipped(1, false);
  EXPECT_EQ(one_before, one_after);
  const auto four = clipped(4, true);
  EXPECT_LE(norm_of(four), limit * 1.0001);
  EXPECT_LT(norm_of(four), norm_of(clipped(4, false)) * 0.9999)
      << "the shares' gradients differ in direction";
}

// The sum over all shares of a share's clipped update, times its part of the batch.
std::map<std::string, std::vector<double>> moved_by_shares(const ClipOptions& clip, int64_t batch) {
  const TrainingModel one = small_mlp(1, kPlainSgd, {.rules = kNoRules, .clip = clip});
  StepFeeds whole(one, batch, 5, kSmall);
  const auto feeds = whole.at(0, 0.05F);
  Session session(one, cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  const StateValues start = session.save();
  std::map<std::string, std::vector<double>> moved;
  for (int64_t share : {0, 1}) {
    session.load(start);
    const int64_t first = batch * share / 2, rows = batch * (share + 1) / 2 - first;
    const Tensor mine[] = {{{DType::float32, {rows, 1, 6, 6}}, feeds[0].as<float>() + first * 36},
                           {{DType::int64, {rows}}, feeds[1].as<int64_t>() + first},
                           feeds[2]};
    session.step().run(mine, session.run_options(0));
    for (const State& state : one.states) {
      if (is_slot(state.kind)) continue;
      const Literal after = states_of(session).read(state.values[0]);
      const auto before = start.at(state.values[0]).values<float>();
      auto& sum = moved[state.name];
      sum.resize(before.size());
      for (std::size_t i = 0; i < before.size(); ++i)
        sum[i] += static_cast<double>(rows) / static_cast<double>(batch) *
                  (before[i] - after.values<float>()[i]) / 0.05;
    }
  }
  return moved;
}

// Shares of one and two examples. Then shares of three, each in two parts of one and two.
TEST(Clip, BeforeTheReduceWithUnequalShares) {
  for (const ClipOptions clip :
       {ClipOptions{.norm = 0.05F}, ClipOptions{.each_norm = 0.02F}, ClipOptions{.value = 0.01F}})
    for (int parts : {1, 2}) {
      ClipOptions before = clip;
      before.before_reduce = true;
      const int64_t batch = 3 * parts;
      const TrainingModel two =
          small_mlp(2, kPlainSgd,
                    {.rules = kNoRules, .weighted = true, .micro_batches = parts, .clip = before});
      const StateValues start = train(two, batch, 0, kSmall), after = train(two, batch, 1, kSmall);
      for (const auto& [name, moved] : moved_by_shares(clip, batch))
        for (std::size_t i = 0; i < moved.size(); ++i) {
          const float by = start.at("cpu_1/" + name).values<float>()[i] -
                           after.at("cpu_1/" + name).values<float>()[i];
          ASSERT_NEAR(by / 0.05, moved[i], 2e-5) << name << "[" << i << "], " << parts << " parts";
        }
    }
}

TEST(Clip, EachGradientByItsOwnNorm) {
  const auto whole = moved(small_mlp(1, kPlainSgd, {.rules = kNoRules}));
  std::vector<double> norms;
  for (const auto& [name, values] : whole) norms.push_back(norm_of({{name, values}}));
  std::sort(norms.begin(), norms.end());
  const auto limit = static_cast<float>((norms[2] + norms[3]) / 2);
  for (int replicas : {1, 2}) {
    const auto clipped =
        moved(small_mlp(replicas, kPlainSgd, {.rules = kNoRules, .clip = {.each_norm = limit}}));
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

// A batch of one example leaves no rows for the other replica.
TEST(Clip, BeforeTheReduceWithoutRows) {
  for (const ClipOptions clip : {ClipOptions{.norm = 0.05F, .before_reduce = true},
                                 ClipOptions{.each_norm = 0.02F, .before_reduce = true},
                                 ClipOptions{.value = 0.01F, .before_reduce = true}}) {
    const TrainingModel two =
        small_mlp(2, kPlainSgd, {.rules = kNoRules, .weighted = true, .clip = clip});
    const TrainingModel one = small_mlp(1, kPlainSgd, {.rules = kNoRules, .clip = clip});
    expect_close(train(two, 1, 2, kSmall), train(one, 1, 2, kSmall), one);
  }
}

}  // namespace
}  // namespace lockstep::testing
