// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/print.h"
#include "graph/verify.h"
#include "lockstep/imported.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const Dims kDigits{1, 28, 28};

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

TEST(DataParallel, ReplicasAreCalledAfterTheirDevices) {
  const auto first_state = [](const char* devices) {
    const DataParallelOptions options = replicas_on(parse_devices(devices));
    return build_data_parallel_model(all_ops(), lenet(), MomentumSgd{}, options).states[0].values;
  };
  const std::vector<std::string> on_cpus{"cpu_0/conv1_w", "cpu_1/conv1_w"};
  const std::vector<std::string> on_gpus{"gpu_0/conv1_w", "gpu_1/conv1_w", "gpu_2/conv1_w"};
  EXPECT_EQ(first_state("cpu*2"), on_cpus);
  EXPECT_EQ(first_state("gpu:3,gpu:1,gpu:0"), on_gpus);
  expect_error([] { replicas_on({}); }, "the list of devices is empty");
}

TEST(DataParallel, MoreThanTenReplicas) {
  TrainingModel one = small_mlp(1);
  expect_close(train(one, 24, 5, kSmall), train(small_mlp(12), 24, 5, kSmall), one);
}

// train() checks after every step that replicas are equal to the bit.
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
    EXPECT_EQ(find_divergence(session), "");
    return states_of(session).read("cpu_0/fc1_w");
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
  expect_golden("mlp_2_replicas.plan.txt", text_of(plan_of(session.step(), feeds.at(0, 0.1F))));
}

// Planning for GPUs needs no GPU. Each GPU has a queue for its kernels and a queue for
// communication.
TEST(DataParallel, GoldenPlanOfEightGpus) {
  const TrainingModel model = small_mlp(8);
  std::vector<std::string> feeds, fetches;
  std::vector<Dims> dims;
  for (const Replicated& input : model.inputs)
    for (const std::string& name : input.values) {
      feeds.push_back(name);
      dims.push_back(input.name == "lr"      ? Dims{1}
                     : input.name == "label" ? Dims{4}
                                             : Dims{4, 1, 6, 6});
    }
  for (const std::string& name : model.losses[0].values) fetches.push_back(name);
  const Plan plan = compile({.graph = model.step,
                             .feeds = feeds,
                             .feed_dims = dims,
                             .fetches = fetches,
                             .states = model.state_values(),
                             .updates = model.updates,
                             .devices = gpu_devices(8),
                             .kernels = queued_kernels()});
  expect_golden("mlp_8_gpus.plan.txt", text_of(plan));
}

TEST(DataParallel, GpuScopesBuildWithoutGpu) {
  TrainingModel model =
      build_data_parallel_model(all_ops(), lenet(), MomentumSgd{}, {.replicas = 8});
  EXPECT_TRUE(bool(model.step.find("gpu_7/conv1_w")));
  verify(model);
}

TEST(DataParallel, OneReplicaHasNoReduce) {
  EXPECT_EQ(text_of(small_mlp(1)).find("AllReduce"), std::string::npos);
}

TEST(DataParallel, UpdatesFollowTheClassOfAParameter) {
  TrainingModel model = small_mlp(1, MomentumSgd{}, {.rules = {.weight_decay = 0.01F}});
  const Graph& step = model.step;
  auto maker = [&](const std::string& name) { return step.producer(step.at(name))->type(); };
  EXPECT_EQ(maker("cpu_0/fc1_b_grad_scaled"), "Scale");
  EXPECT_EQ(maker("cpu_0/fc1_w_grad_decayed"), "WeightedSum");
  EXPECT_EQ(maker("cpu_0/fc1_w_new"), "MomentumSGDUpdate");
  EXPECT_FALSE(step.find("cpu_0/fc1_b_grad_decayed"));
  TrainingModel without =
      small_mlp(1, MomentumSgd{}, {.rules = {.weight_decay = 0, .bias_rate_factor = 1}});
  EXPECT_EQ(text_of(without).find("WeightedSum"), std::string::npos);
  EXPECT_EQ(text_of(without).find("Scale"), std::string::npos);
}

// Every reduce follows the gradient that completes it, last layer first.
TEST(DataParallel, ReducesComeAsEarlyAsTheyCan) {
  TrainingModel model = small_mlp(2);
  const Graph& step = model.step;
  auto at = [&](const std::string& name) { return step.producer(step.at(name))->index(); };
  EXPECT_LT(at("cpu_0/pred_w_grad_sum"), at("cpu_0/fc1_w_grad"));
  EXPECT_LT(at("cpu_0/pred_w_new"), at("cpu_0/fc1_w_grad"));
  EXPECT_LT(at("cpu_0/fc2_w_grad_sum"), at("cpu_0/fc1_w_grad_sum"));
}

TEST(DataParallel, TheModelFunctionIsCalledTwice) {
  std::vector<Mode> calls;
  const ModelFn model = [&](Net& net) {
    calls.push_back(net.mode);
    Value x = net.input("data", {DType::float32, {"N", 4}});
    classify(net, fc_layer(net, x, 3, {}, "pred"));
  };
  build_data_parallel_model(all_ops(), model, MomentumSgd{}, {.replicas = 8, .micro_batches = 3});
  EXPECT_EQ(calls, (std::vector<Mode>{Mode::train, Mode::infer}));
}

TEST(DataParallel, WhatOnlyPredictionMakesIsNamed) {
  const ModelFn model = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    if (!net.training()) x = mul(net.graph, x, net.param("gain", {4}, constant(1)), "scaled");
    classify(net, fc_layer(net, x, 3, {}, "pred"));
  };
  expect_error(
      [&] { build_data_parallel_model(all_ops(), model, MomentumSgd{}, {.replicas = 2}); },
      "tests/builders/data_parallel_test.cc:", "parameter 'gain' exists only for prediction");
}

TEST(DataParallel, AParameterHasOneShape) {
  const ModelFn model = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    Value gain = net.param("gain", net.training() ? Dims{4} : Dims{1}, constant(1));
    classify(net, fc_layer(net, mul(net.graph, x, gain, "scaled"), 3, {}, "pred"));
  };
  expect_error([&] { build_data_parallel_model(all_ops(), model, MomentumSgd{}, {.replicas = 2}); },
               "parameter 'gain' is float32[1] in prediction, float32[4] in training");
}

TEST(DataParallel, TheNextValueOfAStateIsOfItsType) {
  const ModelFn model = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    Value seen = net.param("seen", {3}, constant(0), StateKind::computed);
    if (net.training()) net.next(seen, reduce_mean(net.graph, x, {0}, false, "mean"));
    classify(net, fc_layer(net, x, 3, {}, "pred"));
  };
  expect_error([&] { build_data_parallel_model(all_ops(), model, MomentumSgd{}, {}); },
               "'seen' is float32[3], its next value 'mean' is float32[4]");
}

// Names that the step needs for its own inputs.
TEST(DataParallel, ANameThatIsTakenIsNamedWithItsUse) {
  const auto with = [](const std::string& name, DataParallelOptions options = {}) {
    return [name, options] {
      const ModelFn model = [name](Net& net) {
        Value x = net.input("data", {DType::float32, {"N", 4}});
        x = mul(net.graph, x, net.param(name, {4}, constant(1)), "scaled");
        classify(net, fc_layer(net, x, 3, {}, "pred"));
      };
      build_data_parallel_model(all_ops(), model, MomentumSgd{}, options);
    };
  };
  expect_error(with("lr"), "the rate of its updates from its input 'lr'",
               "rename the network's value");
  expect_error(with("label"), "the input 'label' for its labels", "rename the network's value");
  expect_error(with("pred_w_momentum"), "the optimiser's momentum of 'pred_w'",
               "rename the network's value");
  expect_error(with("loss_weight", {.weighted = true}), "the weight of its losses",
               "rename the network's value");
  expect_error(with("pred_w_deferred", {.deferred = true}), "the previous gradient of 'pred_w'");
}

TEST(DataParallel, OptionsThatAreNoNumbersAreRefused) {
  const auto build = [](const DataParallelOptions& options) {
    return [options] { small_mlp(2, MomentumSgd{}, options); };
  };
  expect_error(build({.rules = {.weight_decay = NAN}}), "rules.weight_decay is nan");
  expect_error(build({.rules = {.bias_rate_factor = -1}}), "rules.bias_rate_factor is -1");
  expect_error(build({.clip = {.norm = INFINITY}}), "clip.norm is inf, should be 0 or more");
  AllReduceOptions limited;
  limited.spec.ranges[0].limit = 5;
  expect_error(build({.all_reduce = limited}), "spec 'collective:5:'", "the last range has none");
  expect_error([] { replicas_on(parse_devices("cpu:0,gpu:1")); },
               "the devices of a run must be of one kind, not cpu:0 and gpu:1");
}

TEST(DataParallel, OperandsMayBeLeftOut) {
  const TrainingModel model = build_data_parallel_model(
      all_ops(),
      [](Net& net) {
        Value x = net.input("data", {DType::float32, {"N", 4}});
        Value most = net.graph.constant("most", Literal::scalar(0.5F));
        x = net.graph.add_value({.type = "Clip", .inputs = {x, none, most}}, "clip");
        classify(net, fc_layer(net, x, 3, {}, "pred"));
      },
      MomentumSgd{}, {.replicas = 2});
  EXPECT_TRUE(bool(model.step.find("gpu_1/clip")));
}

TEST(DataParallel, NamesParametersThatNoLossReaches) {
  ModelFn model = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    Value frozen = stop_gradient(net.graph, fc_layer(net, x, 4, {}, "fc"));
    classify(net, fc_layer(net, frozen, 3, {}, "pred"));
  };
  expect_error([&] { build_data_parallel_model(all_ops(), model, MomentumSgd{}, {}); },
               "fc_w (tests/builders/data_parallel_test.cc:", "fc_b", "allow_untrained");
  TrainingModel trained = build_data_parallel_model(all_ops(), model, MomentumSgd{},
                                                    {.replicas = 2, .allow_untrained = true});
  EXPECT_EQ(trained.find_state("fc_w_momentum"), nullptr);
  EXPECT_NE(trained.find_state("pred_w_momentum"), nullptr);
  verify(trained);
}

TEST(DataParallel, RefusesWhatCannotTrain) {
  auto build = [](const ModelFn& model) {
    return [model] { build_data_parallel_model(all_ops(), model, MomentumSgd{}, {}); };
  };
  expect_error(build([](Net& net) { net.input("data", {DType::float32, {"N", 4}}); }), "no loss");
  expect_error(build([](Net& net) {
                 net.param("w", {2}, constant(0));
                 net.param("w", {2}, constant(0));
               }),
               "tests/builders/data_parallel_test.cc:", ": parameter 'w' is created twice");
  expect_error(build([](Net& net) {
                 Value x = net.input("data", {DType::float32, {"N", 4}});
                 net.loss("loss", mul(net.graph, x, x, "square"));
               }),
               "tests/builders/data_parallel_test.cc:", ": loss 'loss' has shape [N,4]");
  expect_error(build([](Net& net) {
                 Value x = net.input("data", {DType::float32, {"N", 4, 8, 8}});
                 conv_layer(net, x, 6, {.kernel = 3, .group = 3}, "conv");
               }),
               "conv (tests/builders/data_parallel_test.cc:", "): 4 channels do not divide");
  expect_error([] { build_data_parallel_model(all_ops(), mlp(), MomentumSgd{}, {.replicas = 0}); },
               "at least one replica");
}

TEST(Models, UnknownNameSuggestsTheNearest) {
  expect_error([] { model_named("lenett", {}); }, "no model 'lenett'",
               "did you mean 'lenet'? Known: ");
  expect_error([] { model_named("xyzzyx", {}); }, "no model 'xyzzyx'; known: ");
}

TEST(Frozen, ParametersStayAndTheReversePassStops) {
  TrainingModel all = small_mlp(2), frozen = small_mlp(2, MomentumSgd{}, {.frozen = {"fc1_*"}});
  EXPECT_EQ(frozen.find_state("fc1_w_momentum"), nullptr);
  EXPECT_NE(frozen.find_state("fc1_w"), nullptr);
  EXPECT_FALSE(bool(frozen.step.find("cpu_0/fc1_grad"))) << "no layer below is trained";
  EXPECT_TRUE(bool(all.step.find("cpu_0/fc1_grad")));
  StateValues before = train(frozen, 8, 0, kSmall), after = train(frozen, 8, 3, kSmall);
  EXPECT_TRUE(before.at("cpu_1/fc1_w") == after.at("cpu_1/fc1_w"));
  EXPECT_FALSE(before.at("cpu_1/fc2_w") == after.at("cpu_1/fc2_w"));
  expect_error([] { small_mlp(2, MomentumSgd{}, {.frozen = {"fc9*"}}); },
               "frozen parameters (MODEL.FREEZE, --freeze): no parameter is called 'fc9*'");
}

// A ReLU6 as in files: its bounds are initializers, which get no gradient.
TEST(Imported, BoundsOfAClipAreNotTrained) {
  LoadedModel file{TrainingModel(all_ops())};
  Graph& graph = file.model.inference;
  Value x = graph.input("x", {DType::float32, {"N", 2}});
  Value w = graph.constant("w", Literal::of<float>(std::vector<float>{1, 2}, {2}));
  Value low = graph.constant("low", Literal::scalar(0.F)),
        high = graph.constant("high", Literal::scalar(6.F));
  Value y = graph.add_value({.type = "Clip", .inputs = {mul(graph, x, w, "wx"), low, high}}, "y");
  graph.output(reduce_mean(graph, y, {}, false, "loss"));
  file.initializers = {"w", "low", "high"};
  EXPECT_EQ(trainable_initializers(file, "loss", {}), std::set<std::string>{"w"});
}

}  // namespace
}  // namespace lockstep::testing
