// SPDX-License-Identifier: Apache-2.0
// The meaning of a data-parallel step: for any division of the batch, the step equals a step of one
// replica with the whole batch.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TEST(Semantics, EightReplicasAreOneWithEightTimesTheBatch) {
  const TrainingModel one = small_mlp(1);
  const StateValues expected = train(one, 32, 5, kSmall);
  for (const char* spec :
       {"collective", "xring", "xring#2", "rechd", "bcube", "pscpu#2", "psgpu#3", "simple", "muji",
        "hierarchical_copy", "nccl/xring", "nccl/rechd", "nccl/pscpu", "pscpu/xring", "pscpu/rechd",
        "pscpu/pscpu", "pscpu/pscpu#1", "collective#2", "psgpu#2:100:xring"}) {
    SCOPED_TRACE(spec);
    const AllReduceOptions reduce{.spec = parse_all_reduce(spec), .processes = 2};
    expect_close(expected,
                 train(small_mlp(8, MomentumSgd{}, {.all_reduce = reduce}), 32, 5, kSmall), one);
  }
}

// Sequences of uneven lengths, in both directions, and an embedding.
TEST(Semantics, RecurrentReplicasAreOneWithTheWholeBatch) {
  const auto model_of = [](int replicas) {
    return build_data_parallel_model(all_ops(), small_network("recurrent").model, MomentumSgd{},
                                     {.replicas = replicas, .scope = "cpu"});
  };
  const TrainingModel one = model_of(1);
  const StateValues expected = train(one, 24, 5, kSmall);
  for (int replicas : {2, 4}) {
    const StateValues found = train(model_of(replicas), 24, 5, kSmall);
    for (const State& state : one.states) {
      const auto a = expected.at(state.values[0]).values<float>();
      const auto b = found.at(state.values[0]).values<float>();
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 1e-6 * std::max(1.0F, std::abs(a[i])))
            << state.name << " on " << replicas << " replicas";
    }
  }
}

// With batch norm, shards are independent except for the gradient. Compares with a run by hand,
// shard by shard.
TEST(Semantics, EightReplicasWithBatchNormAreTheirShardsByHand) {
  constexpr MomentumSgd kPlain{.momentum = 0};
  constexpr ParamRules kNoRules{.weight_decay = 0, .bias_rate_factor = 1};
  DataParallelOptions one_replica{.replicas = 1, .scope = "cpu", .rules = kNoRules};
  const TrainingModel one =
      build_data_parallel_model(all_ops(), small_network("batch_norm").model, kPlain, one_replica);
  Session shard(one, cpu_devices(1), all_kernels(), {5, 1, {}});
  StepFeeds whole(one, 32, 5, kSmall);
  shard.initialise();
  const StateValues start = shard.save();
  std::map<std::string, std::vector<double>> mean;
  const TrainingModel eight_replicas = small_bn_net(8);
  StepFeeds of_eight(eight_replicas, 32, 5, kSmall);
  const auto feeds = of_eight.at(0, 0.05F);
  for (std::size_t k = 0; k < 8; ++k) {
    shard.load(start);
    // Inputs in order: data, label, lr, each of eight replicas.
    const Tensor mine[] = {feeds[k], feeds[8 + k], feeds[16 + k]};
    shard.step().run(mine, shard.run_options(0));
    for (const auto& [name, value] : shard.save()) {
      const auto values = value.values<float>();
      auto& sum = mean[name];
      sum.resize(values.size(), 0);
      for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i] / 8.0;
    }
  }
  for (const char* spec : {"collective", "xring", "rechd", "bcube", "psgpu#8", "muji", "simple",
                           "hierarchical_copy", "nccl/xring"}) {
    const TrainingModel eight =
        build_data_parallel_model(all_ops(), small_network("batch_norm").model, kPlain,
                                  {.replicas = 8,
                                   .scope = "cpu",
                                   .rules = kNoRules,
                                   .all_reduce = {.spec = parse_all_reduce(spec)}});
    Session session(eight, cpu_devices(8), all_kernels(), {5, 1, {}});
    session.initialise();
    session.step().run(of_eight.at(0, 0.05F), session.run_options(0));
    for (const State& state : eight.states) {
      if (state.kind == StateKind::computed || is_slot(state.kind)) continue;
      const Literal held = states_of(session).read(state.values[0]);
      const auto found = held.values<float>();
      const auto& expected = mean.at("cpu_0/" + state.name);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 2e-6) << spec << " " << state.name;
    }
  }
}

TEST(MicroBatches, AddUpToTheWholeBatch) {
  const TrainingModel one = small_mlp(1);
  const StateValues expected = train(one, 24, 5, kSmall);
  for (int replicas : {1, 2}) {
    const TrainingModel model = small_mlp(replicas, MomentumSgd{}, {.micro_batches = 3});
    verify(model);
    expect_close(expected, train(model, 24, 5, kSmall), one);
  }
}

// Running statistics pass through every part. Memory does not grow with the number of parts.
TEST(MicroBatches, StatisticsGoOnFromPartToPartAndActivationsDoNotAddUp) {
  const TrainingModel parts = small_bn_net(1, {.micro_batches = 4}), whole = small_bn_net(1);
  const StateValues after = train(parts, 32, 1, kSmall), at_once = train(whole, 32, 1, kSmall);
  const auto mean = after.at("cpu_0/bn1_rm").values<float>();
  const auto of_whole = at_once.at("cpu_0/bn1_rm").values<float>();
  double ratio = 0;
  for (std::size_t i = 0; i < mean.size(); ++i)
    ratio += mean[i] / of_whole[i] / static_cast<double>(mean.size());
  EXPECT_NEAR(ratio, (1 - std::pow(0.9, 4)) / 0.1, 0.2) << "four steps of the running mean";
  auto arena = [](const TrainingModel& model, int64_t batch) {
    Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
    StepFeeds feeds(model, batch, 5, kSmall);
    return plan_of(session.step(), feeds.at(0, 0.1F)).workers[0].arena_bytes;
  };
  EXPECT_LT(arena(parts, 256), arena(whole, 256) / 2);
}

TEST(Weighted, UnequalSharesAreTheWholeBatch) {
  const TrainingModel one = small_mlp(1);
  for (int64_t batch : {16, 17, 3}) {
    const StateValues expected = train(one, batch, 5, kSmall);
    for (int replicas : {2, 3}) {
      const TrainingModel model = small_mlp(replicas, MomentumSgd{}, {.weighted = true});
      expect_close(expected, train(model, batch, 5, kSmall), one);
    }
    const TrainingModel parts = small_mlp(1, MomentumSgd{}, {.weighted = true, .micro_batches = 3});
    expect_close(expected, train(parts, batch, 5, kSmall), one);
  }
}

// A smaller last batch uses another plan of the same step.
TEST(Weighted, ALastBatchMayBeSmaller) {
  const TrainingModel one = small_mlp(1), three = small_mlp(3, MomentumSgd{}, {.weighted = true});
  auto run = [](const TrainingModel& model) {
    Session session(model, cpu_devices(model.replicas), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds full(model, 16, 5, kSmall), last(model, 5, 5, kSmall);
    session.step().run(full.at(0, 0.05F), session.run_options(0));
    session.step().run(last.at(1, 0.05F), session.run_options(1));
    return session.save();
  };
  expect_close(run(one), run(three), one);
}

TEST(SynchronisedBatchNorm, IsBatchNormOfTheWholeBatch) {
  const TrainingModel one = small_bn_net(1);
  const StateValues expected = train(one, 32, 4, kSmall);
  for (int replicas : {2, 4}) {
    const TrainingModel model = small_bn_net(replicas, {.synchronised_batch_norm = true});
    verify(model);
    expect_close(expected, train(model, 32, 4, kSmall), one);
  }
  const TrainingModel parts =
      small_bn_net(2, {.micro_batches = 2, .synchronised_batch_norm = true});
  const TrainingModel parts_of_one = small_bn_net(1, {.micro_batches = 2});
  // The rows of a part are the first halves of two replicas' shares, not the first half of the
  // batch.
  EXPECT_NO_THROW(verify(parts));
  EXPECT_EQ(parts.inputs.size(), parts_of_one.inputs.size());
  expect_error([] { small_bn_net(2, {.weighted = true, .synchronised_batch_norm = true}); },
               "needs equal shares");
}

TEST(Statistics, EachReplicaItsOwnTheMeanOrTheFirst) {
  auto running_means = [](StatisticsPolicy policy) {
    const TrainingModel model = small_bn_net(3, {.statistics = policy});
    const StateValues after = train(model, 12, 2, kSmall);
    std::vector<float> of_replica;
    for (int k = 0; k < 3; ++k)
      of_replica.push_back(after.at(join("cpu_", k, "/bn1_rm")).values<float>()[0]);
    return of_replica;
  };
  const auto each = running_means(StatisticsPolicy::each);
  EXPECT_NE(each[0], each[1]);
  const auto mean = running_means(StatisticsPolicy::mean);
  EXPECT_NEAR(mean[0], (each[0] + each[1] + each[2]) / 3, 1e-4);
  EXPECT_EQ(mean[0], mean[1]);
  EXPECT_EQ(mean[0], mean[2]);
  const auto first = running_means(StatisticsPolicy::first);
  EXPECT_EQ(first[1], first[0]);
  EXPECT_EQ(first[2], each[0]);
  expect_error([] { parse_statistics("all"); }, "not 'all'");
}

// All replicas accept the statistics or none does, regardless of the replica with an overflow.
TEST(SynchronisedBatchNorm, StatisticsStayEqualWhereOneReplicaOverflows) {
  int overflows = 0;
  for (float scale = 1024; scale < 1e8F; scale *= 2) {
    const TrainingModel model = small_bn_net(2, {.deferred = true,
                                                 .synchronised_batch_norm = true,
                                                 .precision = DType::float16,
                                                 .loss_scaling = {.first = scale, .most = 1e30F}});
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    for (int64_t step = 0; step < 3; ++step) {
      session.step().run(feeds.at(step, 0.05F), session.run_options(step));
      for (const char* name : {"bn1_rm", "bn1_riv", "bn2_rm", "bn2_riv"})
        EXPECT_TRUE(states_of(session).read(std::string("cpu_0/") + name) ==
                    states_of(session).read(std::string("cpu_1/") + name))
            << name << " in step " << step << ", scale " << scale;
    }
    overflows += states_of(session).read("cpu_0/loss_scale").values<float>()[0] < scale;
  }
  EXPECT_GT(overflows, 2);
}

// The limit depends on the share of the step that computed the gradients, not of the next step.
TEST(Weighted, DeferredGradientsAreClippedByTheirOwnShare) {
  auto after_two_steps = [](float weight_of_the_second) {
    const TrainingModel model = small_mlp(
        2, MomentumSgd{},
        {.weighted = true, .deferred = true, .clip = {.norm = 0.05F, .before_reduce = true}});
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 3, 5, kSmall);
    std::size_t weight = 0;  // the feed of replica 0
    for (const Replicated& input : model.inputs) {
      if (input.name == "loss_weight") break;
      weight += input.values.size();
    }
    for (int64_t step = 0; step < 2; ++step) {
      const auto tensors = feeds.at(step, 0.05F);
      if (step == 1) *tensors[weight].as<float>() = weight_of_the_second;
      session.step().run(tensors, session.run_options(step));
    }
    return states_of(session).read("cpu_0/fc1_w");
  };
  EXPECT_TRUE(after_two_steps(0.3F) == after_two_steps(0.7F));
}

}  // namespace
}  // namespace lockstep::testing
