// What a data-parallel step means, however the batch is shared out: it is the step of one replica
// with the whole batch.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/data_parallel.h"
#include "builders/layers.h"
#include "builders/losses.h"
#include "graph/verify.h"
#include "operators/activation/activation.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const Dims kSmall{1, 6, 6};

void with_batch_norm(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
  x = conv_layer(net, x, 4, {.kernel = 3, .pad = 1}, "conv1");
  x = relu(net.graph, batch_norm_layer(net, x, {}, "bn1"), "relu1");
  x = conv_layer(net, x, 4, {.kernel = 3, .pad = 1}, "conv2");
  x = relu(net.graph, batch_norm_layer(net, x, {}, "bn2"), "relu2");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

TrainingModel small_bn_net(int replicas, DataParallelOptions options = {}) {
  options.replicas = replicas;
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), with_batch_norm, {}, options);
}

TEST(Semantics, EightReplicasAreOneWithEightTimesTheBatch) {
  const TrainingModel one = small_mlp(1);
  const StateValues expected = train(one, 32, 5, kSmall);
  for (const char* spec :
       {"collective", "xring", "xring#2", "rechd", "bcube", "pscpu#2", "psgpu#3", "simple", "muji",
        "hierarchical_copy", "nccl/xring", "nccl/rechd", "nccl/pscpu", "pscpu/xring", "pscpu/rechd",
        "pscpu/pscpu", "psgpu#2:100:xring"}) {
    SCOPED_TRACE(spec);
    const AllReduceOptions reduce{.spec = parse_all_reduce(spec), .workers = 2};
    expect_close(expected, train(small_mlp(8, {}, {.all_reduce = reduce}), 32, 5, kSmall), one);
  }
}

// With batch norm the shards are independent but for the gradient: run by hand, shard by shard.
TEST(Semantics, EightReplicasWithBatchNormAreTheirShardsByHand) {
  constexpr MomentumSgd kPlain{.momentum = 0, .weight_decay = 0, .bias_rate_factor = 1};
  DataParallelOptions one_replica{.replicas = 1, .scope = "cpu"};
  const TrainingModel one =
      build_data_parallel_model(all_ops(), with_batch_norm, kPlain, one_replica);
  Session shard(one, cpu_devices(1), all_kernels(), {5, 1, {}});
  StepFeeds whole(one, 32, 5, kSmall);
  shard.initialise();
  const StateValues start = shard.save();
  std::map<std::string, std::vector<double>> mean;
  StepFeeds of_eight(small_bn_net(8), 32, 5, kSmall);
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
    const TrainingModel eight = build_data_parallel_model(
        all_ops(), with_batch_norm, kPlain,
        {.replicas = 8, .scope = "cpu", .all_reduce = {.spec = parse_all_reduce(spec)}});
    Session session(eight, cpu_devices(8), all_kernels(), {5, 1, {}});
    session.initialise();
    session.step().run(of_eight.at(0, 0.05F), session.run_options(0));
    for (const State& state : eight.states) {
      if (state.kind == StateKind::computed || state.kind == StateKind::momentum) continue;
      const Literal held = session.state().read(state.values[0]);
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
    const TrainingModel model = small_mlp(replicas, {}, {.micro_batches = 3});
    verify(model);
    expect_close(expected, train(model, 24, 5, kSmall), one);
  }
}

// Running statistics pass through every part; memory does not grow with their number.
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
    return session.step().plan(feeds.at(0, 0.1F)).arena_bytes[0];
  };
  EXPECT_LT(arena(parts, 256), arena(whole, 256) / 2);
}

TEST(Weighted, UnequalSharesAreTheWholeBatch) {
  const TrainingModel one = small_mlp(1);
  for (int64_t batch : {16, 17, 3}) {
    const StateValues expected = train(one, batch, 5, kSmall);
    for (int replicas : {2, 3}) {
      const TrainingModel model = small_mlp(replicas, {}, {.weighted = true});
      expect_close(expected, train(model, batch, 5, kSmall), one);
    }
    const TrainingModel parts = small_mlp(1, {}, {.weighted = true, .micro_batches = 3});
    expect_close(expected, train(parts, batch, 5, kSmall), one);
  }
}

// A last batch that is smaller is another plan of the same step.
TEST(Weighted, ALastBatchMayBeSmaller) {
  const TrainingModel one = small_mlp(1), three = small_mlp(3, {}, {.weighted = true});
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
  // Rows of a part differ: two replicas' first halves, not the first half of the batch.
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

TEST(NonFinite, AStepThatIsSkippedChangesNothingAndNamesItsOrigin) {
  const TrainingModel model = build_data_parallel_model(
      all_ops(), with_batch_norm, {}, {.replicas = 3, .scope = "cpu", .skip_non_finite = true});
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
  EXPECT_EQ(model.gradients[static_cast<std::size_t>(found[4])].name, "pred_b");
  checks(2, false);
  EXPECT_FALSE(session.save() == before);
}

TEST(NonFinite, NothingIsSkippedWhereNothingIsTrained) {
  for (DType precision : {DType::float32, DType::float16}) {
    const TrainingModel model =
        small_bn_net(2, {.frozen = {"*"}, .skip_non_finite = true, .precision = precision});
    const StateValues before = train(model, 8, 0, kSmall), after = train(model, 8, 2, kSmall);
    EXPECT_TRUE(before.at("cpu_1/pred_w") == after.at("cpu_1/pred_w"));
    EXPECT_FALSE(before.at("cpu_1/bn1_rm") == after.at("cpu_1/bn1_rm")) << "statistics go on";
  }
}

// Limits hide an infinity, but not from those who look for it behind the reduce.
TEST(NonFinite, IsFoundThoughItIsClippedBeforeTheReduce) {
  for (const ClipOptions clip :
       {ClipOptions{.value = 0.1F, .before_reduce = true},
        ClipOptions{.norm = 0.1F, .each_norm = 0.1F, .before_reduce = true}}) {
    // The gradients of the first step overflow in float16.
    const TrainingModel model = small_mlp(
        2, {}, {.clip = clip, .precision = DType::float16, .loss_scaling = {.first = 1e30F}});
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    const Literal before = session.state().read("cpu_0/fc1_w");
    StepFeeds feeds(model, 8, 5, kSmall);
    session.step().run(feeds.at(0, 0.05F), session.run_options(0));
    EXPECT_TRUE(session.state().read("cpu_0/fc1_w") == before);
    EXPECT_EQ(session.state().read("cpu_0/loss_scale").values<float>()[0], 0.5e30F);
  }
}

// Statistics of all replicas are taken over by all or by none, wherever a gradient overflows.
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
        EXPECT_TRUE(session.state().read(std::string("cpu_0/") + name) ==
                    session.state().read(std::string("cpu_1/") + name))
            << name << " in step " << step << ", scale " << scale;
    }
    overflows += session.state().read("cpu_0/loss_scale").values<float>()[0] < scale;
  }
  EXPECT_GT(overflows, 2);
}

// The limit belongs to the share that the gradients were computed with, not to the next step's.
TEST(Weighted, DeferredGradientsAreClippedByTheirOwnShare) {
  auto after_two_steps = [](float weight_of_the_second) {
    const TrainingModel model = small_mlp(
        2, {},
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
    return session.state().read("cpu_0/fc1_w");
  };
  EXPECT_TRUE(after_two_steps(0.3F) == after_two_steps(0.7F));
}

// What waits belongs to the step before, statistics to this one: each follows its own flag.
TEST(NonFinite, DeferredStatisticsStayFinite) {
  for (const StatisticsPolicy policy :
       {StatisticsPolicy::each, StatisticsPolicy::mean, StatisticsPolicy::first}) {
    const TrainingModel model = build_data_parallel_model(all_ops(), with_batch_norm, {},
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
      EXPECT_EQ(skipped >= 0, step == 2) << "the gradients of step 1 are taken in step 2";
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

// The rate falls to a tenth in a step that is skipped: momentum must not keep what it was.
TEST(MomentumCorrection, IsNotLostInAStepThatIsSkipped) {
  const TrainingModel model =
      small_mlp(2, {.momentum = 0.5F, .weight_decay = 0, .correct_momentum = true},
                {.skip_non_finite = true});
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  auto momentum = [&] {
    const Literal value = session.state().read("cpu_1/pred_w_momentum");
    const auto numbers = value.values<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  session.step().run(feeds.at(0, 0.1F), session.run_options(0));
  const std::vector<float> old = momentum();
  const Literal param = session.state().read("cpu_1/pred_w");
  const auto tensors = feeds.at(1, 0.01F, 0.1F);
  feeds.images().back() = std::numeric_limits<float>::infinity();
  session.step().run(tensors, session.run_options(1));
  const std::vector<float> corrected = momentum();
  for (std::size_t i = 0; i < old.size(); ++i) EXPECT_FLOAT_EQ(corrected[i], 0.1F * old[i]);
  EXPECT_TRUE(session.state().read("cpu_1/pred_w") == param);
}

// v = 0.5 * c * v + lr * g; corrected, a rate ten times smaller makes the old momentum so too.
TEST(MomentumCorrection, ScalesTheOldMomentum) {
  const TrainingModel model =
      small_mlp(2, {.momentum = 0.5F, .weight_decay = 0, .correct_momentum = true});
  auto momentum_after = [&](float correction) {
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    session.step().run(feeds.at(0, 0.1F), session.run_options(0));
    const float old = session.state().read("cpu_1/pred_w_momentum").values<float>()[3];
    session.step().run(feeds.at(1, 0.01F, correction), session.run_options(1));
    return std::pair(old, session.state().read("cpu_1/pred_w_momentum").values<float>()[3]);
  };
  const auto [old, plain] = momentum_after(1);
  const auto [same, corrected] = momentum_after(0.1F);
  EXPECT_EQ(old, same);
  EXPECT_NEAR(plain - corrected, 0.5 * 0.9 * old, 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
