// SPDX-License-Identifier: Apache-2.0
// Moving averages of parameters: their numbers, and their place in a session and in prediction.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/checkpoint.h"
#include "lockstep/optimizers.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "tests/builders/known_gradients.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

const KnownParameters kThree{{"w", StateKind::weight, 0.5F, 2, 0.25F},
                             {"b", StateKind::bias, -0.25F, 3, 0.5F},
                             {"frozen", StateKind::weight, 4, 5}};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

DataParallelOptions averaging(DType precision = DType::float32) {
  DataParallelOptions options;
  options.frozen = {"frozen"};
  options.precision = precision;
  options.average.decay = 0.75F;
  options.skip_non_finite = true;
  return options;
}

// Steps 2 and 5 are skipped. The averages follow the parameters of the other steps.
TEST(Averages, FollowTheParameters) {
  for (const Optimizer& optimizer :
       {Optimizer(MomentumSgd{}), Optimizer(Adam{}), Optimizer(Lamb{})})
    for (DType precision : {DType::float32, DType::bfloat16, DType::float16})
      for (int replicas : {1, 2, 3})
        for (bool queued : {false, true}) {
          SCOPED_TRACE(join(precision, " on ", replicas, queued ? " queued" : ""));
          KnownRun run(kThree, optimizer, replicas, queued, averaging(precision));
          std::vector<std::vector<double>> expected;
          for (const char* name : {"w", "b"}) {
            const std::vector<float> first = run.of(name);
            EXPECT_EQ(run.of(std::string(name) + "_ema", replicas - 1), first);
            expected.emplace_back(first.begin(), first.end());
          }
          for (int64_t step = 0; step < 10; ++step) {
            const bool bad = step == 2 || step == 5;
            const std::vector<float> before = run.of("w_ema");
            run.step(step, bad ? kInfinity : 0.5F);
            if (bad) {
              EXPECT_EQ(run.of("w_ema"), before);
              continue;
            }
            for (std::size_t p = 0; p < 2; ++p) {
              const std::vector<float> now = run.of(kThree[p].name);
              for (std::size_t i = 0; i < now.size(); ++i)
                expected[p][i] = 0.75 * expected[p][i] + 0.25 * now[i];
            }
          }
          for (std::size_t p = 0; p < 2; ++p) {
            const auto found = run.of(std::string(kThree[p].name) + "_ema", replicas - 1);
            for (std::size_t i = 0; i < found.size(); ++i)
              EXPECT_NEAR(found[i], expected[p][i], 1e-5) << kThree[p].name;
          }
          EXPECT_EQ(find_divergence(run.session()), "");
        }
}

TEST(Averages, AreStatesOfTrainedParametersAndChangeNoOtherBit) {
  DataParallelOptions without = averaging();
  without.average.decay = 0;
  for (bool queued : {false, true}) {
    KnownRun run(kThree, Adam{}, 2, queued, averaging()), plain(kThree, Adam{}, 2, queued, without);
    for (int64_t step = 0; step < 4; ++step) {
      run.step(step, 1);
      plain.step(step, 1);
    }
    ASSERT_NE(run.model().find_state("w_ema"), nullptr);
    EXPECT_EQ(run.model().find_state("w_ema")->kind, StateKind::average);
    EXPECT_EQ(run.model().find_state("frozen_ema"), nullptr);
    for (const State& state : plain.model().states)
      EXPECT_EQ(run.of(state.name, 1), plain.of(state.name, 1)) << state.name;
  }
}

// The mean of the feed times the sum of slopes times parameters.
float predicted(KnownRun& run) {
  const float one = 1;
  const Tensor data{{DType::float32, {1, 1}}, const_cast<float*>(&one)};
  return *run.session().inference().run({&data, 1}, {}).front().as<float>();
}

TEST(Averages, PredictUnlessTheParametersAreAskedFor) {
  for (bool predicts : {true, false})
    for (int replicas : {1, 2}) {
      DataParallelOptions options = averaging();
      options.average.predicts = predicts;
      KnownRun run(kThree, MomentumSgd{}, replicas, false, options);
      for (int64_t step = 0; step < 5; ++step) run.step(step, 1);
      double expected = 1;
      for (const KnownParameter& parameter : kThree) {
        const bool averaged = predicts && parameter.name != std::string("frozen");
        const auto values = run.of(std::string(parameter.name) + (averaged ? "_ema" : ""));
        const auto slopes = parameter.elements(parameter.slope);
        for (std::size_t i = 0; i < values.size(); ++i) expected += values[i] * slopes[i];
      }
      EXPECT_NEAR(predicted(run), expected, 1e-3);
    }
}

TEST(Averages, ExportTheNetworkUnderTheParametersNames) {
  KnownRun run(kThree, MomentumSgd{}, 2, false, averaging());
  for (int64_t step = 0; step < 5; ++step) run.step(step, 1);
  StateValues values;
  for (const State& state : run.model().states)
    values.emplace(state.name, states_of(run.session()).read(state.values[0]));
  const TrainingModel trained = with_trained_values(run.model(), values);
  const Literal* w = trained.inference.literal(trained.inference.at("w"));
  ASSERT_NE(w, nullptr);
  EXPECT_TRUE(*w == values.at("w_ema"));
  EXPECT_FALSE(trained.inference.find("w_ema"));
}

TEST(Averages, ContinueFromACheckpointWithTheSameBits) {
  TemporaryFolder folder;
  KnownRun whole(kThree, Adam{}, 2, false, averaging()),
      again(kThree, Adam{}, 2, false, averaging());
  for (int64_t step = 0; step < 4; ++step) whole.step(step, 1);
  save_checkpoint(whole.session(), folder / "c", {});
  load_checkpoint(again.session(), folder / "c");
  for (int64_t step = 4; step < 8; ++step) {
    whole.step(step, 0.5F);
    again.step(step, 0.5F);
  }
  EXPECT_TRUE(whole.session().save() == again.session().save());
  KnownRun more(kThree, Adam{}, 3, false, averaging());
  load_checkpoint(more.session(), folder / "c");
  EXPECT_EQ(find_divergence(more.session()), "");
}

TEST(Averages, RefuseADecayThatForgetsNothing) {
  DataParallelOptions options = averaging();
  options.average.decay = 1;
  expect_error([&] { KnownRun(kThree, Adam{}, 1, false, options); },
               "average.decay (TRAIN.EMA) is 1, should be at least 0 and below 1");
}

}  // namespace
}  // namespace lockstep::testing
