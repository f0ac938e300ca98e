// SPDX-License-Identifier: Apache-2.0
// Fused steps of a CPU's plan give the bits of the separate nodes, in channel blocks as well.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session_options.h"
#include "operators/batch_norm/batch_norm.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

const Dims kImage{3, 11, 9};

// Channel blocks with odd planes: batch norms before a ReLU6, a Clip with a single bound, a sum
// with a ReLU. The block's input has two users.
void clipped_network(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 3, 11, 9}});
  auto conv_bn = [&](Value in, int64_t channels, ConvLayer conv, const std::string& name) {
    conv.bias = false;
    const Value y = conv_layer(net, in, channels, conv, name);
    return batch_norm_layer(net, y, {.scale = 0.75F}, name + "_bn");
  };
  x = conv_bn(x, 16, {.kernel = 3, .pad = 1}, "conv1");
  x = clip(net.graph, x, 0, 0.6F, "conv1_clip");
  Value y = conv_bn(x, 16, {.kernel = 3, .pad = 1, .group = 16}, "deep");
  const Value most = net.graph.constant("most", Literal::scalar(0.9F));
  y = net.graph.add_value({.type = "Clip", .inputs = {y, none, most}}, "deep_clip");
  y = conv_bn(y, 16, {.kernel = 1}, "thin");
  x = relu(net.graph, add(net.graph, y, x, "sum"), "sum_relu");
  x = conv_bn(x, 48, {.kernel = 3, .stride = 2}, "conv2");
  x = relu(net.graph, x, "conv2_relu");
  classify(net, fc_layer(net, global_average_pool(net.graph, x, "pool"), 5, {}, "pred"));
}

TrainingModel clipped_model(int replicas, const Optimizer& optimizer = MomentumSgd{0.9F, true},
                            DType precision = DType::float32) {
  return build_data_parallel_model(all_ops(), clipped_network, optimizer,
                                   {.replicas = replicas, .scope = "cpu", .precision = precision});
}

struct Trained {
  StateValues state;
  std::string plan;
  std::map<std::string, int> steps;  // the count of each type
};

Trained trained_on_cpu(const TrainingModel& model, bool fused, int threads = 1,
                       bool layouts = true) {
  SessionOptions options{.seed = 5, .threads = usable_threads(threads)};
  options.compile.rewrites = fused;
  options.compile.layouts = layouts;
  Session session(model, cpu_devices(model.replicas), all_kernels(), options);
  session.initialise();
  StepFeeds feeds(model, 6, 5, kImage);
  for (int64_t step = 0; step < 4; ++step)
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.05F));
  Trained result{session.save(), text_of(plan), {}};
  for (const PlanStep& step : plan.steps) ++result.steps[step.type];
  return result;
}

struct Predicted {
  std::vector<float> scores;
  std::map<std::string, int> steps;
};

Predicted predicted_on_cpu(const TrainingModel& model, bool fused) {
  SessionOptions options{.seed = 5, .threads = 1};
  options.compile.rewrites = fused;
  options.compile.exact = true;  // otherwise convolutions absorb batch norms
  Session session(model, cpu_devices(1), all_kernels(), options);
  session.initialise();
  std::vector<float> pixels(static_cast<std::size_t>(2 * element_count(kImage)));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 7) - 3;
  const Literal image = Literal::of<float>(pixels, {2, kImage[0], kImage[1], kImage[2]});
  const Tensor feed[] = {view_of(image)};
  const Tensor scores = session.inference().run(feed, session.run_options(0))[0];
  Predicted result{{scores.as<float>(), scores.as<float>() + scores.count()}, {}};
  for (const PlanStep& step : plan_of(session.inference(), feed).steps) ++result.steps[step.type];
  return result;
}

TEST(CpuFusion, PredictsByOnePassPerBatchNorm) {
  const TrainingModel model = clipped_model(1);
  const Predicted fused = predicted_on_cpu(model, true), single = predicted_on_cpu(model, false);
  EXPECT_EQ(fused.scores, single.scores);
  EXPECT_EQ(fused.steps.at("FusedBatchNorm"), 4);
  for (const char* type : {"BatchNormalization", "Relu", "Clip"})
    EXPECT_FALSE(fused.steps.contains(type)) << type;
  EXPECT_EQ(single.steps.at("BatchNormalization"), 4);
}

TEST(CpuFusion, GivesTheBitsOfSingleNodes) {
  for (const int replicas : {1, 2})
    for (const int threads : {1, 3}) {
      const TrainingModel model = clipped_model(replicas);
      EXPECT_TRUE(trained_on_cpu(model, true, threads).state ==
                  trained_on_cpu(model, false, threads).state)
          << replicas << " replicas, " << threads << " threads";
    }
}

// Intermediate values that are not stored are rounded as if they were.
TEST(CpuFusion, GivesTheBitsOfSingleNodesInBFloat16) {
  const TrainingModel model = clipped_model(2, MomentumSgd{0.9F, true}, DType::bfloat16);
  Trained fused = trained_on_cpu(model, true, 2);
  EXPECT_TRUE(fused.state == trained_on_cpu(model, false, 2).state);
  for (const char* gone : {"Clip", "ClipGrad", "Relu", "ReluGrad"})
    EXPECT_EQ(fused.steps[gone], 0) << gone << "\n" << fused.plan;
}

TEST(CpuFusion, GivesTheBitsOfSingleUpdatesOfAdam) {
  const TrainingModel model = clipped_model(2, Adam{});
  EXPECT_TRUE(trained_on_cpu(model, true).state == trained_on_cpu(model, false).state);
}

TEST(CpuFusion, IsInThePlanWithItsReason) {
  Trained fused = trained_on_cpu(clipped_model(1), true),
          single = trained_on_cpu(clipped_model(1), false);
  EXPECT_EQ(single.steps["Clip"], 2);
  EXPECT_EQ(single.steps["ClipGrad"], 2);
  EXPECT_EQ(single.steps["Relu"], 2);
  for (const char* gone : {"Clip", "ClipGrad", "Relu", "ReluGrad", "Where"})
    EXPECT_EQ(fused.steps[gone], 0) << gone << "\n" << fused.plan;
  EXPECT_EQ(fused.steps["BatchNormTrain"], 4);
  EXPECT_EQ(fused.steps["MomentumSGDUpdates"], 1) << fused.plan;
  for (const char* note :
       {"fused: 1 of batch norm and ReLU: ", "fused: 1 of batch norm, addition and ReLU: ",
        "fused: 2 of batch norm and Clip: ", "fused: 2 of the gradients of Clip and batch norm: ",
        "fused: 2 of the gradients of ReLU and batch norm: ",
        " updates and what precedes them: 1 sweeps"})
    EXPECT_NE(fused.plan.find(note), std::string::npos) << note << fused.plan;
}

// With or without fusion, the activations of a network with ReLU6 stay in blocks between its first
// convolution and its pool.
TEST(CpuFusion, KeepsChannelBlocks) {
  for (const bool rewrites : {true, false}) {
    Trained result = trained_on_cpu(clipped_model(1), rewrites);
    EXPECT_LE(result.steps["Reorder"], 2) << result.plan;
  }
}

// Convolutions add in another order without blocks.
TEST(CpuFusion, ComputesTheSameInBlocksAndRowMajor) {
  const TrainingModel model = clipped_model(1);
  expect_close(trained_on_cpu(model, true).state, trained_on_cpu(model, true, 1, false).state,
               model);
}

// A parameter with more elements than one batched update may have is updated separately.
TEST(CpuFusion, UpdatesLargeParametersWhenTheirGradientsAreThere) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(),
                                [](Net& net) {
                                  Value x = net.input("data", {DType::float32, {"N", 3, 11, 9}});
                                  x = relu(net.graph, fc_layer(net, x, 300, {}, "fc1"), "relu1");
                                  classify(net, fc_layer(net, x, 5, {}, "pred"));
                                },
                                MomentumSgd{0.9F, true}, {.replicas = 1, .scope = "cpu"});
  Trained fused = trained_on_cpu(model, true);
  EXPECT_EQ(fused.steps["MomentumSGDUpdates"], 3) << fused.plan;
  EXPECT_EQ(fused.steps["WeightedSum"], 0);
  EXPECT_TRUE(fused.state == trained_on_cpu(model, false).state);
}

struct ClippedNorm {
  Graph graph{all_ops(), "net"};
  Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  Value norm, clipped;

  explicit ClippedNorm(bool known_bounds = true) {
    auto vector = [&](const char* name) { return graph.input(name, {DType::float32, {3}}); };
    norm = batch_norm_train(
               graph, {x, vector("scale"), vector("bias"), vector("mean"), vector("variance")}, {},
               "norm")
               .y;
    if (known_bounds) {
      clipped = clip(graph, norm, 0, 6, "clip");
    } else {
      const Value high = graph.input("high", {DType::float32, {}});
      clipped = graph.add_value({.type = "Clip", .inputs = {norm, none, high}}, "clip");
    }
    graph.output(clipped);
  }
  int clips_left(const RewriteContext& context = {}) const {
    const Graph fused = fuse_batch_norms_and_clips(graph, context).graph;
    int count = 0;
    for (int i = 0; i < fused.node_count(); ++i) count += fused.node(i).type() == "Clip";
    return count;
  }
};

TEST(CpuFusion, LeavesAClipWhoseOperandOthersRead) {
  EXPECT_EQ(ClippedNorm().clips_left(), 0);
  ClippedNorm read_by_name;
  EXPECT_EQ(read_by_name.clips_left({{read_by_name.graph.name(read_by_name.norm)}}), 1);
  ClippedNorm with_others;
  with_others.graph.output(tanh(with_others.graph, with_others.norm, "other"));
  EXPECT_EQ(with_others.clips_left(), 1);
}

TEST(CpuFusion, LeavesAClipWhoseBoundsAreComputed) {
  EXPECT_EQ(ClippedNorm(false).clips_left(), 1);
}

// The gradient needs the Clip's operand, which fusion would remove.
TEST(CpuFusion, LeavesAClipWhoseGradientStaysAlone) {
  ClippedNorm net;
  const Value dy = net.graph.input("dy", {DType::float32, {2, 3, 4, 4}});
  const Node node = *net.graph.producer(net.clipped);
  net.graph.output(
      net.graph.add_value({.type = "ClipGrad",
                           .domain = kOwnDomain,
                           .inputs = {dy, net.norm, node.inputs()[1], node.inputs()[2]}},
                          "norm_grad"));
  EXPECT_EQ(net.clips_left(), 1);
}

// A GPU's kernels do not support bounds.
TEST(CpuFusion, OfClipsIsNoneOfAGpu) {
  const ClippedNorm net;
  EXPECT_TRUE(fuse_batch_norms(net.graph, {}).notes.empty());
}

}  // namespace
}  // namespace lockstep::testing
