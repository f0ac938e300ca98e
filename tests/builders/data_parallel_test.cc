#include "builders/data_parallel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "builders/layers.h"
#include "builders/losses.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "models/models.h"
#include "operators/activation/activation.h"
#include "operators/shape/shape.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const Dims kSmall{1, 6, 6};
const Dims kDigits{1, 28, 28};

void expect_close(const StateValues& a, const StateValues& b, const TrainingModel& model) {
  for (const State& state : model.states) {
    auto of_a = a.at("cpu_0/" + state.name).values<float>();
    auto of_b = b.at("cpu_0/" + state.name).values<float>();
    for (std::size_t i = 0; i < of_a.size(); ++i)
      ASSERT_NEAR(of_a[i], of_b[i], 1e-5 + 1e-4 * std::abs(of_a[i]))
          << state.name << "[" << i << "]";
  }
}

TEST(DataParallel, OneTwoAndFourReplicasTrainAlike) {
  TrainingModel one = small_mlp(1);
  StateValues expected = train(one, 16, 10, kSmall);
  for (int replicas : {2, 4})
    expect_close(expected, train(small_mlp(replicas), 16, 10, kSmall), one);
}

TEST(DataParallel, ConvolutionalReplicasTrainAlike) {
  TrainingModel one = small_lenet(1);
  StateValues expected = train(one, 8, 10, kDigits);
  for (int replicas : {2, 4})
    expect_close(expected, train(small_lenet(replicas), 8, 10, kDigits), one);
}

TEST(DataParallel, MoreThanTenReplicas) {
  TrainingModel one = small_mlp(1);
  expect_close(train(one, 24, 5, kSmall), train(small_mlp(12), 24, 5, kSmall), one);
}

// train() checks after every step that replicas are bit-equal.
TEST(DataParallel, TwoRunsGiveTheSameBits) {
  for (int replicas : {1, 2, 4}) {
    TrainingModel model = small_lenet(replicas);
    EXPECT_TRUE(train(model, 8, 5, kDigits) == train(model, 8, 5, kDigits)) << replicas;
  }
}

TEST(DataParallel, TheSeedDecidesWhateverTheReplicas) {
  auto initial = [](int replicas, uint64_t seed) {
    TrainingModel model = small_mlp(replicas);
    Session session(model, cpu_devices(replicas), all_kernels(), {seed, 1, {}});
    session.initialise();
    EXPECT_EQ(find_drift(model, session.state()), "");
    return session.state().read("cpu_0/fc1_w");
  };
  EXPECT_TRUE(initial(1, 3) == initial(4, 3));
  EXPECT_FALSE(initial(1, 3) == initial(1, 4));
}

TEST(DataParallel, GoldenGraphOfTwoReplicas) {
  TrainingModel model = small_mlp(2);
  verify(model);
  expect_golden("mlp_2_replicas.graph.txt", text_of(model));
}

TEST(DataParallel, GoldenPlanOfTwoReplicas) {
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  StepFeeds feeds(model, 8, 5, kSmall);
  expect_golden("mlp_2_replicas.plan.txt", text_of(session.step().plan(feeds.at(0, 0.1F))));
}

TEST(DataParallel, GpuScopesBuildWithoutGpu) {
  TrainingModel model = build_data_parallel_model(all_ops(), lenet(), {}, {.replicas = 8});
  EXPECT_TRUE(bool(model.step.find("gpu_7/conv1_w")));
  verify(model);
}

TEST(DataParallel, OneReplicaHasNoReduce) {
  EXPECT_EQ(text_of(small_mlp(1)).find("AllReduce"), std::string::npos);
}

TEST(DataParallel, UpdatesFollowTheClassOfAParameter) {
  TrainingModel model = small_mlp(1, {.weight_decay = 0.01F});
  const Graph& step = model.step;
  auto maker = [&](const std::string& name) { return step.producer(step.at(name))->type(); };
  EXPECT_EQ(maker("cpu_0/fc1_b_grad_scaled"), "Scale");
  EXPECT_EQ(maker("cpu_0/fc1_w_grad_decayed"), "WeightedSum");
  EXPECT_EQ(maker("cpu_0/fc1_w_new"), "MomentumSGDUpdate");
  EXPECT_FALSE(step.find("cpu_0/fc1_b_grad_decayed"));
  TrainingModel without = small_mlp(1, {.weight_decay = 0, .bias_rate_factor = 1});
  EXPECT_EQ(text_of(without).find("WeightedSum"), std::string::npos);
  EXPECT_EQ(text_of(without).find("Scale"), std::string::npos);
}

// Every reduce stands right behind the gradient that completes it, last layer first.
TEST(DataParallel, ReducesComeAsEarlyAsTheyCan) {
  TrainingModel model = small_mlp(2);
  const Graph& step = model.step;
  auto at = [&](const std::string& name) { return step.producer(step.at(name))->index(); };
  EXPECT_LT(at("cpu_0/pred_w_grad_sum"), at("cpu_0/fc1_w_grad"));
  EXPECT_LT(at("cpu_0/pred_w_new"), at("cpu_0/fc1_w_grad"));
  EXPECT_LT(at("cpu_0/fc2_w_grad_sum"), at("cpu_0/fc1_w_grad_sum"));
}

TEST(DataParallel, NamesTheReplicaThatBuildsAnotherNetwork) {
  int calls = 0;
  auto build = [&](const ModelFn& model) {
    calls = 0;
    return [&, model] { build_data_parallel_model(all_ops(), model, {}, {.replicas = 3}); };
  };
  auto with = [&](auto change) {
    return [&calls, change](Net& net) {
      Value x = net.input("data", {DType::float32, {"N", 4}});
      change(net, x, calls++);
      classify(net, fc_layer(net, x, 3, {}, "pred"));
    };
  };
  expect_error(build(with([](Net& net, Value& x, int call) {
                 x = call == 1 ? sigmoid(net.graph, x, "act") : relu(net.graph, x, "act");
               })),
               "replica 1 builds another network than replica 0", "gpu_1/act (Sigmoid, replica 1",
               "gpu_0/act (Relu");
  expect_error(build(with([](Net& net, Value& x, int call) {
                 x = fc_layer(net, x, call == 2 ? 5 : 4, {}, "fc");
               })),
               "replica 2 builds another network", "gpu_2/fc");
  expect_error(build(with([](Net& net, Value& x, int call) {
                 if (call != 1) x = relu(net.graph, x, "act");
               })),
               "replica 1", "gpu_1/pred (Gemm", "gpu_0/act (Relu");
  expect_error(build(with([](Net& net, Value& x, int call) {
                 x = fc_layer(net, x, 4, {}, call == 1 ? "fd" : "fc");
               })),
               "replica 1", "parameter 0 is 'fd_w', on replica 0 it is 'fc_w'");
}

TEST(DataParallel, NamesParametersThatNoLossReaches) {
  ModelFn model = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    Value frozen = stop_gradient(net.graph, fc_layer(net, x, 4, {}, "fc"));
    classify(net, fc_layer(net, frozen, 3, {}, "pred"));
  };
  expect_error([&] { build_data_parallel_model(all_ops(), model, {}, {}); }, "gpu_0/fc_w",
               "gpu_0/fc_b", "allow_untrained");
  TrainingModel trained =
      build_data_parallel_model(all_ops(), model, {}, {.replicas = 2, .allow_untrained = true});
  EXPECT_EQ(trained.find_state("fc_w_momentum"), nullptr);
  EXPECT_NE(trained.find_state("pred_w_momentum"), nullptr);
  verify(trained);
}

TEST(DataParallel, RefusesWhatCannotTrain) {
  auto build = [](const ModelFn& model) {
    return [model] { build_data_parallel_model(all_ops(), model, {}, {}); };
  };
  expect_error(build([](Net& net) { net.input("data", {DType::float32, {"N", 4}}); }), "no loss");
  expect_error(build([](Net& net) {
                 net.param("w", {2}, constant(0));
                 net.param("w", {2}, constant(0));
               }),
               "parameter 'w' is made twice");
  expect_error([] { build_data_parallel_model(all_ops(), mlp(), {}, {.replicas = 0}); },
               "at least one replica");
}

TEST(Models, UnknownNameSuggestsTheNearest) {
  expect_error([] { model_named("lenett", {}); }, "no model 'lenett'", "did you mean 'lenet'");
}

}  // namespace
}  // namespace lockstep::testing
