// SPDX-License-Identifier: Apache-2.0
// A cast to float32 and a sum over all but one dimension become one node: gradients of biases in 16
// bits. The bits equal the two nodes.
#include <gtest/gtest.h>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session_options.h"
#include "operators/reduce/channel_sums.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

// Channels that fill blocks, need padding or stay row-major; odd planes.
void with_biases(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 3, 11, 9}});
  int64_t number = 0;
  for (const int64_t channels : {16, 24, 5, 32}) {
    const std::string name = join("conv", ++number);
    x = relu(net.graph, conv_layer(net, x, channels, {.pad = 1}, name), name + "_relu");
  }
  x = relu(net.graph, fc_layer(net, x, 12, {}, "fc"), "fc_relu");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

struct Stepped {
  StateValues state;
  std::map<std::string, int> steps;  // the count of each type
  std::string plan;
};

Stepped stepped(DType precision, int replicas, int threads, bool fused, bool layouts) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), with_biases, MomentumSgd{},
                                {.replicas = replicas, .scope = "cpu", .precision = precision});
  SessionOptions options{.seed = 5, .threads = usable_threads(threads)};
  options.compile.rewrites = fused;
  options.compile.layouts = layouts;
  Session session(model, cpu_devices(replicas), all_kernels(), options);
  session.initialise();
  StepFeeds feeds(model, 6, 5, {3, 11, 9});
  for (int64_t step = 0; step < 3; ++step)
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.05F));
  Stepped result{session.save(), {}, text_of(plan)};
  for (const PlanStep& step : plan.steps) ++result.steps[step.type];
  return result;
}

// oneDNN's gradients of filters depend on the number of threads if vectors have 16 floats.
TEST(ChannelSumFusion, GivesTheBitsOfSingleNodes) {
  for (const DType precision : {DType::bfloat16, DType::float16})
    for (const auto& [replicas, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}})
      for (const bool layouts : {true, false}) {
        SCOPED_TRACE(join(precision, ", ", replicas, " of ", threads,
                          layouts ? " threads, in blocks" : " threads, row-major"));
        Stepped fused = stepped(precision, replicas, threads, true, layouts),
                single = stepped(precision, replicas, threads, false, layouts);
        EXPECT_TRUE(fused.state == single.state);
        EXPECT_EQ(fused.steps["ChannelSums"], 5 * replicas) << fused.plan;
        EXPECT_EQ(fused.steps["ReduceSum"], replicas) << "the loss's gradient is in float32";
        EXPECT_EQ(single.steps["ChannelSums"], 0);
        EXPECT_EQ(single.steps["ReduceSum"], 6 * replicas);
        EXPECT_LE(fused.steps["Reorder"], single.steps["Reorder"]);
        EXPECT_NE(
            fused.plan.find(join("fused: ", 5 * replicas, " of a cast and the sum behind it")),
            std::string::npos);
      }
}

TEST(ChannelSumFusion, FindsNoneInFloat32) {
  Stepped result = stepped(DType::float32, 1, 1, true, true);
  EXPECT_EQ(result.steps["ChannelSums"], 0);
  EXPECT_EQ(result.steps["ReduceSum"], 6);
}

// A cast and a sum with one property changed.
struct Pair {
  Dims dims{2, 3, 4, 4};
  std::vector<int64_t> axes{0, 2, 3};
  bool keep_dims = false, known_axes = true, has_other_reader = false, is_seen = false;
  DType from = DType::bfloat16, to = DType::float32;

  // Returns the remaining axis, or -1 if the two nodes stay, and the number of casts.
  std::pair<int64_t, int> fused() const {
    Graph graph(all_ops(), "net");
    const Value x = graph.input("x", {from, to_shape(dims)});
    const Value wide = cast(graph, x, to, Site("wide"));
    const Value over = known_axes ? graph.constant("axes", Literal::vector(axes))
                                  : graph.input("axes", {DType::int64, {3}});
    graph.output(graph.add_value(
        {"ReduceSum", "", {wide, over}, {{"keepdims", int64_t{keep_dims}}}}, "sum"));
    if (has_other_reader) graph.output(relu(graph, wide, "other"));
    RewriteContext context;
    if (is_seen) context.values = {graph.name(wide)};
    const Rewritten rewritten = fuse_channel_sums(graph, context);
    std::pair<int64_t, int> found{-1, 0};
    for (int i = 0; i < rewritten.graph.node_count(); ++i) {
      const Node node = rewritten.graph.node(i);
      found.second += node.type() == "Cast";
      if (node.type() == "ChannelSums") found.first = node.attributes().integer("axis", -1);
    }
    EXPECT_EQ(rewritten.notes.size(), found.first < 0 ? 0U : 1U);
    EXPECT_TRUE(rewritten.graph.find("sum"));
    return found;
  }
};
using Found = std::pair<int64_t, int>;

TEST(ChannelSumFusion, LeavesAnyOneDimension) {
  EXPECT_EQ(Pair().fused(), Found(1, 0));
  EXPECT_EQ((Pair{.axes = {-1, 0, -2}}.fused()), Found(1, 0));
  EXPECT_EQ((Pair{.dims = {8, 5}, .axes = {0}}.fused()), Found(1, 0));
  EXPECT_EQ((Pair{.dims = {8, 5}, .axes = {1}}.fused()), Found(0, 0));
  EXPECT_EQ((Pair{.dims = {2, 8, 5}, .axes = {0, 1}}.fused()), Found(2, 0));
  EXPECT_EQ((Pair{.dims = {0, 8, 5}, .axes = {0, 1}}.fused()), Found(2, 0));
  EXPECT_EQ((Pair{.from = DType::float16}.fused()), Found(1, 0));
}

TEST(ChannelSumFusion, LeavesOtherSumsAndCastsThatOthersRead) {
  const Found stays(-1, 1);
  EXPECT_EQ((Pair{.axes = {2, 3}}.fused()), stays) << "two dimensions";
  EXPECT_EQ((Pair{.axes = {0, 1, 2, 3}}.fused()), stays) << "none";
  EXPECT_EQ((Pair{.dims = {7}, .axes = {0}}.fused()), stays) << "a vector";
  EXPECT_EQ((Pair{.keep_dims = true}.fused()), stays);
  EXPECT_EQ((Pair{.known_axes = false}.fused()), stays);
  EXPECT_EQ((Pair{.has_other_reader = true}.fused()), stays);
  EXPECT_EQ((Pair{.is_seen = true}.fused()), stays);
  EXPECT_EQ((Pair{.to = DType::float64}.fused()), stays);
  EXPECT_EQ((Pair{.from = DType::int32}.fused()), stays);
}

}  // namespace
}  // namespace lockstep::testing
