// SPDX-License-Identifier: Apache-2.0
// Optimisers as values. Compares the optimisers of PyTorch with PyTorch's numbers, and tests Adam's
// count of updates. A custom optimiser shows that a training step needs nothing beyond an
// optimiser's declarations.
#include "lockstep/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/optimizers/by_rule.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"
#include "tests/builders/known_gradients.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

const KnownParameters kParameters{{"w", StateKind::weight, 0.5F, 2},
                                  {"b", StateKind::bias, -0.25F, 3},
                                  {"s", StateKind::norm, 1.5F, -1}};
constexpr float kMean[] = {1, -2, 0.5F, 0.25F};  // of the feeds in steps 0, 1, 2, 3, 4, ..

// The values of w, b and s after 20 steps of torch.optim's optimiser in PyTorch 1.13, in float64,
// with the same feeds. Each parameter has the decay of its class.
struct TorchCase {
  const char* name;
  Optimizer optimizer;
  double after[3];
  bool counts = true;
};
std::vector<TorchCase> torch_cases() {
  constexpr float kEpsilon = 0x1p-10F;
  return {{"Adam", Adam{}, {0.440891954223, -0.260438840977, 1.349574384678}},
          {"Adam by numbers",
           Adam{.beta1 = 0.75F, .beta2 = 0.875F, .epsilon = kEpsilon},
           {0.440676113918, -0.260540438199, 1.350505185979}},
          {"AdamW", AdamW{}, {0.369305871183, -0.260438840977, 1.294727003618}},
          {"AdamW by numbers",
           AdamW{.beta1 = 0.75F, .beta2 = 0.875F, .epsilon = kEpsilon},
           {0.368749894916, -0.260540438199, 1.295055820064}},
          {"RMSProp", RmsProp{}, {0.217226069929, -0.501495877989, 1.118956504830}, false},
          {"RMSProp with momentum",
           RmsProp{.alpha = 0.875F, .momentum = 0.75F, .epsilon = kEpsilon},
           {-0.070067169773, -0.780718642331, 1.349432148468},
           false},
          {"centred RMSProp",
           RmsProp{.centred = true},
           {0.214920169679, -0.504990545439, 1.117775746964},
           false},
          {"centred RMSProp with momentum",
           RmsProp{.alpha = 0.875F, .momentum = 0.75F, .epsilon = kEpsilon, .centred = true},
           {-0.110648837258, -0.833610423984, 1.346302204461},
           false},
          {"Adagrad", Adagrad{}, {0.456412171235, -0.275017261640, 1.464215706548}, false},
          {"Adagrad by numbers",
           Adagrad{.rate_decay = 0.125F, .initial_accumulator = 0.5F, .epsilon = kEpsilon},
           {0.454013322520, -0.288723581766, 1.479987417116}}};
}

class Training : public KnownRun {
 public:
  Training(const Optimizer& optimizer, int replicas, bool queued, DataParallelOptions options = {})
      : KnownRun(kParameters, optimizer, replicas, queued, std::move(options)) {}
};

TEST(Optimizers, ArePyTorchs) {
  for (const TorchCase& c : torch_cases())
    for (int replicas : {1, 2, 3, 8})
      for (bool queued : {false, true}) {
        SCOPED_TRACE(join(c.name, " on ", replicas, queued ? " queued" : ""));
        Training run(c.optimizer, replicas, queued);
        for (int64_t step = 0; step < 20; ++step) run.step(step, kMean[step % 4]);
        for (std::size_t p = 0; p < kParameters.size(); ++p)
          for (float value : run.of(kParameters[p].name, replicas - 1))
            EXPECT_NEAR(value, c.after[p], 1e-5) << kParameters[p].name;
        EXPECT_EQ(run.model().find_state("updates_made") != nullptr, c.counts);
        if (c.counts) {
          EXPECT_EQ(run.of("updates_made"), std::vector<float>{20});
        }
        EXPECT_EQ(find_divergence(run.session()), "");
      }
}

// Queues do all updates in one launch. Each decay belongs to its parameter, and a skipped step does
// not decay.
TEST(Optimizers, ASkippedStepLeavesAllAsItWas) {
  for (const TorchCase& c : torch_cases())
    for (bool queued : {false, true}) {
      Training run(c.optimizer, 2, queued, {.skip_non_finite = true});
      run.step(0, 1);
      const StateValues before = run.session().save();
      run.step(1, std::numeric_limits<float>::infinity());
      EXPECT_TRUE(run.session().save() == before) << c.name;
      run.step(2, 1);
      EXPECT_FALSE(run.session().save() == before) << c.name;
    }
}

// The gradient is constant, so its variance is 0 up to rounding, which may be below 0.
TEST(Optimizers, CentredRmsPropSurvivesAVarianceOfNothing) {
  Training run(RmsProp{.alpha = 0.5F, .epsilon = 1, .centred = true}, 1, false);
  for (int64_t step = 0; step < 200; ++step) run.step(step, 1.0F / 3);
  for (float value : run.of("b")) EXPECT_TRUE(std::isfinite(value));
}

// Steps 2 and 3 are skipped; the rest equals a run without these steps.
TEST(AdamOptimizer, CountsTheUpdatesThatWereMade) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (bool queued : {false, true})
    for (DType precision : {DType::float32, DType::float16}) {
      const DataParallelOptions options{.skip_non_finite = true, .precision = precision};
      Training whole(Adam{}, 2, queued, options), skipping(Adam{}, 2, queued, options);
      int64_t fed = 0;
      for (int64_t step = 0; step < 6; ++step) {
        const bool skipped = step == 2 || step == 3;
        const StateValues before = skipping.session().save();
        skipping.step(step, skipped ? infinity : kMean[fed % 4]);
        if (!skipped) {
          whole.step(step, kMean[fed++ % 4]);
        } else if (precision == DType::float32) {
          EXPECT_TRUE(skipping.session().save() == before) << step;
        }
        for (const State& state : whole.model().states)
          if (state.kind != StateKind::scaling) {
            EXPECT_EQ(skipping.of(state.name, 1), whole.of(state.name, 1)) << state.name;
          }
      }
      EXPECT_EQ(skipping.of("updates_made"), std::vector<float>{4});
    }
}

// The first step has no deferred gradients, but still counts as the first update.
TEST(AdamOptimizer, DeferredTakesTheGradientsOfTheStepBefore) {
  Training deferred(Adam{}, 2, false, {.deferred = true});
  deferred.step(0, kMean[0]);
  EXPECT_EQ(deferred.of("b"), std::vector<float>(6, -0.25F));
  EXPECT_EQ(deferred.of("updates_made"), std::vector<float>{1});
  deferred.step(1, kMean[1]);
  // m = 0.1 g, v = 0.001 g^2, and t is 2.
  const double step = 0.1 * (0.1 / (1 - 0.81)) / std::sqrt(0.001 / (1 - 0.998001));
  EXPECT_NEAR(deferred.of("b")[0], -0.25 - step, 1e-6);
}

TEST(AdamOptimizer, KeepsNothingOfWhatIsFrozen) {
  Training run(Adam{}, 2, false, {.frozen = {"w"}});
  for (int64_t step = 0; step < 3; ++step) run.step(step, 1);
  EXPECT_EQ(run.of("w"), std::vector<float>(6, 0.5F));
  EXPECT_EQ(run.model().find_state("w_first_moment"), nullptr);
  ASSERT_NE(run.model().find_state("b_second_moment"), nullptr);
  EXPECT_EQ(run.model().find_state("b_second_moment")->kind, StateKind::slot);
}

TEST(Optimizers, RefuseNumbersThatMakeNoSense) {
  expect_error([] { small_mlp(1, Adam{.beta1 = 1}); }, "Adam's beta1 is 1, should be at least 0");
  expect_error([] { small_mlp(1, Adam{.beta2 = -0.5F}); }, "Adam's beta2 is -0.5");
  expect_error([] { small_mlp(1, Adam{.epsilon = 0}); },
               "Adam's epsilon is 0, should be finite and above 0");
  expect_error([] { small_mlp(1, AdamW{.beta2 = 1}); }, "AdamW's beta2 is 1, should be");
  expect_error([] { small_mlp(1, RmsProp{.alpha = 1}); }, "RMSProp's alpha is 1, should be");
  expect_error([] { small_mlp(1, RmsProp{.momentum = -1}); }, "RMSProp's momentum is -1");
  expect_error([] { small_mlp(1, RmsProp{.epsilon = 0, .centred = true}); },
               "RMSProp's epsilon is 0, should be finite and above 0");
  expect_error([] { small_mlp(1, Adagrad{.rate_decay = -1}); },
               "Adagrad's rate_decay is -1, should be finite and at least 0");
  expect_error([] { small_mlp(1, Adagrad{.initial_accumulator = -1}); },
               "Adagrad's initial_accumulator is -1");
}

// The parameter decreases by rate * gradient. Each replica sums the squares of its gradients from
// 0.5 on; the sums differ if nothing is reduced.
Optimizer with_a_slot_of_its_own() {
  Optimizer optimizer([](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
    const std::string name = graph.name(update.param);
    const Value squares = mul(graph, update.gradient, update.gradient, name + "_squares");
    const Value step = mul(graph, update.gradient, update.fed[0], name + "_step");
    return {sub(graph, update.param, step, name + "_new"),
            {add(graph, update.slots[0], squares, name + "_seen_new")}};
  });
  optimizer.feeds = {learning_rate_feed()};
  optimizer.slots = {{.name = "seen", .first = 0.5F, .differs_by_replica = true}};
  return optimizer;
}

TEST(Optimizers, ASlotMayDifferByReplica) {
  TemporaryFolder folder;
  DataParallelOptions options;
  options.all_reduce.spec = parse_all_reduce("trivial");
  Training run(with_a_slot_of_its_own(), 2, false, options);
  EXPECT_EQ(run.of("b_seen", 1), std::vector<float>(6, 0.5F));
  EXPECT_EQ(run.model().find_state("b_seen")->kind, StateKind::own_slot);
  EXPECT_TRUE(differs_by_replica(StateKind::own_slot));
  run.step(0, 1, 0.25F);
  // The bias's gradient is 3 * 3 * (1 +- 0.25), half on each replica.
  EXPECT_FLOAT_EQ(run.of("b_seen", 0)[0], 0.5F + 5.625F * 5.625F);
  EXPECT_FLOAT_EQ(run.of("b_seen", 1)[0], 0.5F + 3.375F * 3.375F);
  save_checkpoint(run.session(), folder / "c", {});
  EXPECT_EQ(read_safetensors(folder / "c").tensors.count("b_seen@1"), 1u);
  Training again(with_a_slot_of_its_own(), 2, false, options);
  load_checkpoint(again.session(), folder / "c");
  EXPECT_TRUE(again.session().save() == run.session().save());
  states_of(again.session()).at("r_1/s_seen").as<float>()[4] =
      std::numeric_limits<float>::infinity();
  EXPECT_EQ(lost_value(again.session()), "'r_1/s_seen' is inf at [1,1]");
}

TEST(Optimizers, ANewValueForEachSlot) {
  Optimizer optimizer = with_a_slot_of_its_own();
  optimizer.slots.push_back({"forgotten"});
  expect_error([&] { small_mlp(1, optimizer); }, "the optimiser has 2 slots, but 1 new ones for");
}

}  // namespace
}  // namespace lockstep::testing
