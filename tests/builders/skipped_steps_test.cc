// SPDX-License-Identifier: Apache-2.0
// Steps with gradients that are not finite: unchanged states, continued states, and the report.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TEST(NonFinite, AStepThatIsSkippedChangesNothingAndNamesItsOrigin) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), small_network("batch_norm").model, MomentumSgd{},
                                {.replicas = 3, .scope = "cpu", .skip_non_finite = true});
  verify(model);
  Session session(model, cpu_devices(3), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 12, 5, kSmall);
  auto checks = [&](int64_t step, bool damaged) {
    const auto tensors = feeds.at(step, 0.05F);
    if (damaged) feeds.images()[5 * 36] = std::numeric_limits<float>::infinity();  // replica 1's
    const auto fetched = session.step().run(tensors, session.run_options(step));
    std::vector<int64_t> values;
    for (std::size_t i = fetched.size() - 6; i < fetched.size(); ++i)
      values.push_back(*fetched[i].as<int64_t>());
    return values;
  };
  EXPECT_EQ(checks(0, false), (std::vector<int64_t>{-1, -1, -1, -1, -1, -1}));
  const StateValues before = session.save();
  const auto found = checks(1, true);
  EXPECT_TRUE(session.save() == before);
  EXPECT_GE(found[0], 0);
  EXPECT_EQ(found[3], -1);
  EXPECT_EQ(found[5], -1);
  ASSERT_GE(found[4], 0) << "replica 1";
  EXPECT_EQ(model.gradients[found[4]].name, "pred_b");
  checks(2, false);
  EXPECT_FALSE(session.save() == before);
}

TEST(NonFinite, NothingIsSkippedWhereNothingIsTrained) {
  for (DType precision : {DType::float32, DType::float16}) {
    const TrainingModel model =
        small_bn_net(2, {.frozen = {"*"}, .skip_non_finite = true, .precision = precision});
    const StateValues before = train(model, 8, 0, kSmall), after = train(model, 8, 2, kSmall);
    EXPECT_TRUE(before.at("cpu_1/pred_w") == after.at("cpu_1/pred_w"));
    EXPECT_FALSE(before.at("cpu_1/bn1_rm") == after.at("cpu_1/bn1_rm")) << "statistics continue";
  }
}

// Clipping before the reduce hides an infinity from a check after the reduce. The step must be
// skipped for every way to clip.
TEST(NonFinite, IsFoundThoughItIsClippedBeforeTheReduce) {
  auto scale_after = [](ClipOptions clip, bool before, int replicas, float scale) {
    clip.before_reduce = before;
    const TrainingModel model =
        small_mlp(replicas, MomentumSgd{},
                  {.clip = clip, .precision = DType::float16, .loss_scaling = {.first = scale}});
    Session session(model, cpu_devices(replicas), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    session.step().run(feeds.at(0, 0.05F), session.run_options(0));
    return states_of(session).read("cpu_0/loss_scale").values<float>()[0];
  };
  for (const ClipOptions clip :
       {ClipOptions{.value = 0.1F}, ClipOptions{.each_norm = 0.1F}, ClipOptions{.norm = 0.1F}})
    for (int replicas : {1, 2}) {
      int skipped = 0;
      for (float scale = 1024; scale < 1e7F; scale *= 2) {
        const float expected = scale_after(clip, false, replicas, scale);
        EXPECT_EQ(scale_after(clip, true, replicas, scale), expected) << scale;
        skipped += expected < scale;
      }
      EXPECT_GT(skipped, 3);
    }
}

// Deferred gradients belong to the previous step, statistics to the current step. Each follows its
// own flag.
TEST(NonFinite, DeferredStatisticsStayFinite) {
  for (const StatisticsPolicy policy :
       {StatisticsPolicy::each, StatisticsPolicy::mean, StatisticsPolicy::first}) {
    const TrainingModel model =
        build_data_parallel_model(all_ops(), small_network("batch_norm").model, MomentumSgd{},
                                  {.replicas = 2,
                                   .scope = "cpu",
                                   .deferred = true,
                                   .skip_non_finite = true,
                                   .statistics = policy});
    verify(model);
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    StateValues before;
    for (int64_t step = 0; step < 4; ++step) {
      before = session.save();
      const auto tensors = feeds.at(step, 0.05F);
      if (step == 1) feeds.images().back() = std::numeric_limits<float>::infinity();
      const auto fetched = session.step().run(tensors, session.run_options(step));
      const int64_t skipped = *fetched[fetched.size() - 4].as<int64_t>();
      EXPECT_EQ(skipped >= 0, step == 2) << "step 2 applies the gradients of step 1";
      const StateValues after = session.save();
      for (const State& state : model.states)
        for (const std::string& name : state.values) {
          if (state.kind != StateKind::deferred) {
            for (float value : after.at(name).values<float>())
              ASSERT_TRUE(std::isfinite(value)) << name << " in step " << step;
          }
          if (is_parameter(state.kind) && step > 0) {
            EXPECT_EQ(after.at(name) == before.at(name), step == 2) << name << " in step " << step;
          }
        }
      if (policy != StatisticsPolicy::each) continue;
      EXPECT_EQ(after.at("cpu_1/bn1_rm") == before.at("cpu_1/bn1_rm"), step == 1) << step;
      EXPECT_FALSE(after.at("cpu_0/bn1_rm") == before.at("cpu_0/bn1_rm")) << step;
    }
  }
}

// The rate falls to a tenth in a skipped step. Momentum must still be corrected.
TEST(MomentumCorrection, IsNotLostInAStepThatIsSkipped) {
  const TrainingModel model = small_mlp(2, MomentumSgd{.momentum = 0.5F, .correct_momentum = true},
                                        {.rules = {.weight_decay = 0}, .skip_non_finite = true});
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  auto momentum = [&] {
    const Literal value = states_of(session).read("cpu_1/pred_w_momentum");
    const auto numbers = value.values<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  session.step().run(feeds.at(0, 0.1F), session.run_options(0));
  const std::vector<float> old = momentum();
  const Literal param = states_of(session).read("cpu_1/pred_w");
  const auto tensors = feeds.at(1, 0.01F, 0.1F);
  feeds.images().back() = std::numeric_limits<float>::infinity();
  session.step().run(tensors, session.run_options(1));
  const std::vector<float> corrected = momentum();
  for (std::size_t i = 0; i < old.size(); ++i) EXPECT_FLOAT_EQ(corrected[i], 0.1F * old[i]);
  EXPECT_TRUE(states_of(session).read("cpu_1/pred_w") == param);
}

// v = 0.5 * c * v + lr * g. With the correction, a rate ten times smaller makes the old momentum
// ten times smaller.
TEST(MomentumCorrection, ScalesTheOldMomentum) {
  const TrainingModel model = small_mlp(2, MomentumSgd{.momentum = 0.5F, .correct_momentum = true},
                                        {.rules = {.weight_decay = 0}});
  auto momentum_after = [&](float correction) {
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    session.step().run(feeds.at(0, 0.1F), session.run_options(0));
    const float old = states_of(session).read("cpu_1/pred_w_momentum").values<float>()[3];
    session.step().run(feeds.at(1, 0.01F, correction), session.run_options(1));
    return std::pair(old, states_of(session).read("cpu_1/pred_w_momentum").values<float>()[3]);
  };
  const auto [old, plain] = momentum_after(1);
  const auto [same, corrected] = momentum_after(0.1F);
  EXPECT_EQ(old, same);
  EXPECT_NEAR(plain - corrected, 0.5 * 0.9 * old, 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
