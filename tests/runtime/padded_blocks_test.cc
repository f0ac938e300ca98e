// SPDX-License-Identifier: Apache-2.0
// Channels that no block divides are stored in padded blocks between convolutions, with the numbers
// of row-major tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "operators/conv/conv.h"
#include "operators/pool/pool.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

const Dims kImage{3, 9, 7};
constexpr int64_t kClasses = 5, kBatch = 4;

// Convolutions between `channels` and 48, which fill blocks, as in MobileNetV2. After a batch norm
// of padded channels: a Clip with bounds above 0, sums over padded channels (biases), and a pool,
// which does not support padding.
ModelFn network_of(int64_t channels) {
  return [channels](Net& net) {
    Graph& graph = net.graph;
    const auto normed = [&](Value in, int64_t to, ConvLayer conv, const std::string& name) {
      conv.bias = name == "biased";
      return batch_norm_layer(net, conv_layer(net, in, to, conv, name), {}, name + "_bn");
    };
    const auto wide = [&](Value in, const std::string& name) {
      return clip(graph, normed(in, 48, {.kernel = 1}, name), 0, 6, name + "_relu6");
    };
    Value x = net.input("data", {DType::float32, {"N", 3, 9, 7}});
    x = normed(x, 48, {.kernel = 3, .pad = 1}, "first");
    x = normed(clip(graph, x, 0, 6, "first_relu6"), channels, {.kernel = 1}, "narrow");
    Value y = normed(wide(x, "expand"), channels, {.kernel = 1}, "project");
    x = add(graph, x, y, "residual");
    y = clip(graph, normed(wide(x, "again"), channels, {.kernel = 1}, "biased"), 0.25F, 6,
             "raised");
    y = normed(y, channels, {.kernel = 3, .pad = 1, .group = channels}, "depthwise");
    y = wide(clip(graph, y, 0, 6, "depthwise_relu6"), "beside");
    y = relu(graph, add(graph, normed(y, channels, {.kernel = 1}, "last"), x, "sum"), "sum_relu");
    y = max_pool(graph, y, {.kernel = {2, 2}, .strides = {2, 2}}, "pool");
    y = conv_layer(net, wide(y, "after_pool"), channels, {.kernel = 1}, "alone");
    y = global_average_pool(graph, relu(graph, y, "alone_relu"), "everywhere");
    classify(net, fc_layer(net, y, kClasses, {}, "pred"));
  };
}

struct Way {
  int replicas = 1;
  DType precision = DType::float32;
  bool layouts = true, fused = true;
  int threads = 1;
};

TrainingModel model_of(int64_t channels, const Way& way) {
  return build_data_parallel_model(
      all_ops(), network_of(channels), MomentumSgd{},
      {.replicas = way.replicas, .scope = "cpu", .precision = way.precision});
}

struct Training {
  Session session;
  StepFeeds feeds;

  Training(const TrainingModel& model, const Way& way)
      : session(model, cpu_devices(model.replicas), all_kernels(),
                {.seed = 5,
                 .threads = usable_threads(way.threads),
                 .compile = {.layouts = way.layouts, .rewrites = way.fused}}),
        feeds(model, kBatch, kClasses, kImage) {
    session.initialise();
  }
  void run(int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  }
  const Plan& plan() { return plan_of(session.step(), feeds.at(0, 0.05F)); }
};

StateValues trained(const TrainingModel& model, const Way& way, int64_t steps = 3) {
  Training training(model, way);
  training.run(0, steps);
  return training.session.save();
}

// The types of the steps that read or write a padded tensor.
std::set<std::string> users_of_padding(const Plan& plan) {
  std::set<std::string> types;
  for (const PlanStep& step : plan.steps)
    for (const auto* slots : {&step.in, &step.out})
      for (const int slot : *slots)
        if (slot >= 0 && plan.slots[static_cast<std::size_t>(slot)].desc.padded())
          types.insert(step.type);
  return types;
}

bool any_blocks(const Plan& plan) {
  return std::ranges::any_of(plan.slots, [](const Slot& s) { return s.desc.layout.is_blocks(); });
}

class PaddedBlocks : public ::testing::TestWithParam<int64_t> {};

TEST_P(PaddedBlocks, ComputeWhatRowMajorTensorsDo) {
  const TrainingModel model = model_of(GetParam(), {});
  expect_close(trained(model, {}, 1), trained(model, {.layouts = false}, 1), model);
}

TEST_P(PaddedBlocks, GiveTheSameBitsFusedOrNot) {
  for (const DType precision : {DType::float32, DType::bfloat16})
    for (const int replicas : {1, 2})
      for (const int threads : {1, 3}) {
        const Way fused{.replicas = replicas, .precision = precision, .threads = threads};
        Way single = fused;
        single.fused = false;
        const TrainingModel model = model_of(GetParam(), fused);
        EXPECT_TRUE(trained(model, fused) == trained(model, single))
            << precision << ", " << replicas << " replicas, " << threads << " threads";
      }
}

TEST_P(PaddedBlocks, ResumeWithTheSameBits) {
  const Way way{.replicas = 2};
  const TrainingModel model = model_of(GetParam(), way);
  Training first(model, way), second(model, way);
  first.run(0, 2);
  second.session.load(first.session.save());
  second.run(2, 3);
  EXPECT_TRUE(second.session.save() == trained(model, way));
}

INSTANTIATE_TEST_SUITE_P(Channels, PaddedBlocks, ::testing::Values(3, 10, 17, 24, 28, 40, 48));

// A convolution of an infinity could leave NaN in the padding, and the next convolution would
// spread it.
TEST(PaddedBlocksOf, WhatIsNotFiniteDoesNotSpreadByPadding) {
  Graph graph(all_ops(), "clipped");
  PhiloxSequence random(3, 3);
  const auto filter = [&](const char* name, const Dims& dims) {
    std::vector<float> weights(static_cast<std::size_t>(element_count(dims)));
    for (float& weight : weights) weight = static_cast<float>(random.uniform(0.1, 1));
    return graph.constant(name, Literal::of<float>(weights, dims));
  };
  const Value x = graph.input("x", {DType::float32, {2, 16, 7, 7}});
  const Value narrow = clip(graph, conv(graph, x, filter("w1", {28, 16, 1, 1})), 0, 6, "relu6");
  const Value y = conv(graph, narrow, filter("w2", {32, 28, 1, 1}));
  std::vector<float> values(2 * 16 * 49, 1);
  values[5] = std::numeric_limits<float>::infinity();
  const Literal fed = Literal::of<float>(values, {2, 16, 7, 7});
  std::vector<std::vector<float>> results;
  for (const bool layouts : {true, false}) {
    States states({}, {});
    Workers workers(1, 1);
    const auto executor = make_executor(compile({.graph = graph,
                                                 .feeds = {"x"},
                                                 .feed_dims = {fed.dims()},
                                                 .fetches = {graph.name(y)},
                                                 .devices = cpu_devices(1),
                                                 .kernels = all_kernels(),
                                                 .options = {.layouts = layouts}}),
                                        states, workers);
    if (layouts && any_blocks(executor->plan())) {
      EXPECT_TRUE(users_of_padding(executor->plan()).contains("Conv")) << text_of(executor->plan());
    }
    executor->run(std::vector<Tensor>{view_of(fed)}, {});
    const Tensor found = executor->fetches()[0];
    results.emplace_back(found.as<float>(), found.as<float>() + found.count());
  }
  for (std::size_t i = 0; i < results[0].size(); ++i)
    ASSERT_NEAR(results[0][i], results[1][i], 1e-4) << i;
}

// 28 channels almost fill blocks of 8 or 16.
TEST(PaddedBlocksOf, ConvolutionsBatchNormsAndSumsTakeThem) {
  for (const DType precision : {DType::float32, DType::bfloat16})
    for (const bool fused : {true, false}) {
      const Way way{.precision = precision, .fused = fused};
      const TrainingModel model = model_of(28, way);
      Training training(model, way);
      const Plan& plan = training.plan();
      if (!any_blocks(plan)) continue;  // convolutions of this processor prefer no blocks
      const std::set<std::string> users = users_of_padding(plan);
      for (const char* type : {"Conv", "ConvGradX", "ConvGradW", "BatchNormTrain", "BatchNormGrad",
                               "Add", "ReluGrad", "Reorder"})
        EXPECT_TRUE(users.contains(type)) << type << "\n" << text_of(plan);
      EXPECT_EQ(users.contains("FusedConv"), fused) << text_of(plan);
      for (const char* type : {"Clip", "ClipGrad", "Relu"})
        EXPECT_EQ(users.contains(type), !fused) << type << "\n" << text_of(plan);
      const bool sums_narrow = fused && precision == DType::bfloat16;  // gradients of biases
      EXPECT_EQ(users.contains("ChannelSums"), sums_narrow) << text_of(plan);
      EXPECT_EQ(users.contains("ReduceSum"), !sums_narrow) << text_of(plan);
      for (const char* type : {"MaxPool", "MaxPoolGrad"})
        EXPECT_FALSE(users.contains(type)) << type << "\n" << text_of(plan);
    }
}

// Most of this tensor would be padding.
TEST(PaddedBlocksOf, FewChannelsStayRowMajor) {
  const TrainingModel model = model_of(3, {});
  Training training(model, {});
  EXPECT_TRUE(users_of_padding(training.plan()).empty()) << text_of(training.plan());
}

// Padding occupies memory, but is not an element.
TEST(PaddedBlocksOf, MemoryHoldsPaddingToo) {
  const TensorDesc padded{DType::float32, {2, 20, 3, 5}, Layout::blocks(16)};
  EXPECT_TRUE(padded.padded());
  EXPECT_EQ(padded.count(), 2 * 20 * 15);
  EXPECT_EQ(padded.stored(), (Dims{2, 32, 3, 5}));
  EXPECT_EQ(padded.bytes(), 2u * 32 * 15 * sizeof(float));
  for (const TensorDesc& whole : {TensorDesc{DType::float32, {2, 20, 3, 5}},
                                  {DType::float32, {2, 32, 3, 5}, Layout::blocks(16)},
                                  {DType::float32, {32, 32, 3, 3}, Layout::in({.side = 16})},
                                  {DType::float32, {}}}) {
    EXPECT_FALSE(whole.padded());
    EXPECT_EQ(whole.bytes(), static_cast<std::size_t>(whole.count()) * sizeof(float));
  }
}

}  // namespace
}  // namespace lockstep::testing
