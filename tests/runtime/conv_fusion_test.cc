// SPDX-License-Identifier: Apache-2.0
// Convolutions that add another tensor and end in a ReLU: the fused nodes, and equal bits of fused
// and separate nodes for every convolution kernel of a CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/conv/im2col/loops.h"
#include "operators/conv/winograd/loops.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/case_run.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

const Dims kScene{3, 20, 17};

// Without batch norms: a 3x3 convolution for Winograd, a convolution by im2col, a strided
// convolution, a grouped convolution; a sum before a ReLU, a sum with two readers, a sum of two
// convolutions, a sum after a ReLU.
void residual_network(Net& net) {
  Graph& graph = net.graph;
  const auto layer = [&](Value in, int64_t channels, const ConvLayer& options, const char* name) {
    return conv_layer(net, in, channels, options, name);
  };
  Value x = net.input("data", {DType::float32, {"N", 3, 20, 17}});
  x = relu(graph, layer(x, 64, {.kernel = 3, .pad = 1}, "first"), "first_relu");
  Value y =
      relu(graph, layer(x, 64, {.kernel = 3, .pad = 1, .bias = false}, "tiled"), "tiled_relu");
  y = layer(y, 64, {.kernel = 3, .pad = 1}, "tiled_too");
  x = relu(graph, add(graph, y, x, "sum"), "sum_relu");
  x = relu(graph, layer(x, 20, {.kernel = 1}, "thin"), "thin_relu");
  x = add(graph, x, layer(x, 20, {.kernel = 3, .pad = 1}, "columns"), "columns_sum");
  y = layer(relu(graph, x, "columns_relu"), 28, {.kernel = 3, .stride = 2, .pad = 1}, "narrow");
  x = layer(x, 28, {.kernel = 1, .stride = 2, .bias = false}, "shortcut");
  x = relu(graph, add(graph, y, x, "meeting"), "meeting_relu");
  y = relu(graph, layer(x, 28, {.kernel = 3, .pad = 1, .group = 4}, "groups"), "groups_relu");
  x = add(graph, y, x, "behind");
  classify(net, fc_layer(net, global_average_pool(graph, x, "pool"), 5, {}, "pred"));
}

struct ResidualWay {
  DType precision = DType::float32;
  int replicas = 1, threads = 1;
  bool on_queues = false, layouts = true, fused = true;
};

struct ResidualRun {
  StateValues state;
  std::string plan;
  std::map<std::string, int> steps;
  std::multiset<std::string> kernels;  // of convolutions, without the fused operations
};

// "FusedConv" by "im2col, AVX-512, bias, addition" is a "Conv columns".
std::string kernel_of(const PlanStep& step) {
  const std::string type = step.type.starts_with("Fused") ? step.type.substr(5) : step.type;
  const std::string kernel = step.kernel->describe();
  return join(type, " ", kernel.substr(0, kernel.find(',')));
}

ResidualRun residual_run(const ResidualWay& way) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), residual_network, MomentumSgd{0.9F, true},
                                {.replicas = way.replicas, .precision = way.precision});
  SessionOptions options{.seed = 5, .threads = usable_threads(way.threads)};
  options.compile.rewrites = way.fused;
  options.compile.layouts = way.layouts;
  Session session(model, way.on_queues ? gpu_devices(way.replicas) : cpu_devices(way.replicas),
                  way.on_queues ? queued_kernels() : all_kernels(), options);
  session.initialise();
  StepFeeds feeds(model, 6, 5, kScene);
  for (int64_t step = 0; step < 3; ++step)
    session.step().run(feeds.at(step, 0.01F), session.run_options(static_cast<uint64_t>(step)));
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.01F));
  ResidualRun result{session.save(), text_of(plan), {}, {}};
  for (const PlanStep& step : plan.steps) {
    ++result.steps[step.type];
    if (step.type.find("Conv") != std::string::npos) result.kernels.insert(kernel_of(step));
  }
  return result;
}

class ConvolutionFusionOf : public ::testing::TestWithParam<ResidualWay> {};

TEST_P(ConvolutionFusionOf, GivesTheBitsOfSingleNodes) {
  ResidualWay way = GetParam();
  ResidualRun fused = residual_run(way);
  way.fused = false;
  ResidualRun single = residual_run(way);
  EXPECT_EQ(single.steps["FusedConv"], 0);
  EXPECT_GT(fused.steps["FusedConv"], 0);
  if (fused.kernels == single.kernels) {
    EXPECT_TRUE(fused.state == single.state) << fused.plan;
    return;
  }
  // With kernels for AVX-512, the addend may be in blocks that another kernel reads.
  EXPECT_TRUE(way.on_queues) << fused.plan << single.plan;
  for (const auto& [name, value] : single.state)
    if (value.dtype() == DType::float32)
      expect_near(to_doubles(value), fused.state.at(name), 1e-5, name);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ConvolutionFusionOf,
    ::testing::Values(ResidualWay{}, ResidualWay{.replicas = 2, .threads = 3},
                      ResidualWay{.layouts = false},
                      ResidualWay{.precision = DType::bfloat16, .threads = 2},
                      ResidualWay{.precision = DType::bfloat16, .layouts = false},
                      ResidualWay{.replicas = 2, .on_queues = true},
                      ResidualWay{.replicas = 2, .on_queues = true, .layouts = false}),
    [](const auto& info) {
      const ResidualWay& way = info.param;
      return join(way.precision == DType::float32 ? "float32" : "bfloat16", "_", way.replicas, "x",
                  way.threads, way.on_queues ? "_queues" : "", way.layouts ? "" : "_row_major");
    });

TEST(ConvolutionFusion, IsInThePlanWithItsReason) {
  ResidualRun fused = residual_run({}), single = residual_run({.fused = false});
  EXPECT_EQ(single.steps["Relu"], 7);
  EXPECT_EQ(single.steps["Add"], 4);
  EXPECT_EQ(fused.steps["Relu"], 1) << fused.plan;  // after the sum with two readers
  EXPECT_EQ(fused.steps["Add"], 1);                 // after a ReLU
  EXPECT_EQ(fused.steps["FusedConv"], 7);
  EXPECT_EQ(fused.steps["Conv"], 1);  // the earlier of two added convolutions
  for (const char* note :
       {"fused: 4 of convolution and ReLU: ", "fused: 1 of convolution and addition: ",
        "fused: 2 of convolution, addition and ReLU: "})
    EXPECT_NE(fused.plan.find(note), std::string::npos) << note << fused.plan;
  EXPECT_LE(fused.steps["Reorder"], single.steps["Reorder"]);
  if (winograd::loops_here()) {
    EXPECT_NE(fused.plan.find(
                  join("Winograd, ", winograd::loops_here()->name(), ", bias, addition, ReLU]")),
              std::string::npos)
        << fused.plan;
  }
  if (im2col::loops_here()) {
    EXPECT_NE(fused.plan.find(join("im2col, ", im2col::loops_here()->name(), ", bias, addition]")),
              std::string::npos)
        << fused.plan;
  }
}

// A convolution's result and the operations on the result.
struct Convolved {
  Graph graph{all_ops(), "net"};
  Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});

  Value convolution(const char* name, int64_t outputs = 3) {
    const Value w = graph.input(join(name, "_w"), {DType::float32, {outputs, 3, 1, 1}});
    return conv(graph, x, w, none, {}, name);
  }
  // The remaining kinds of nodes in alphabetical order: "Add Conv Relu".
  std::string fused(const RewriteContext& context = {}) const {
    std::vector<std::string> types;
    const Graph left = fuse_convolutions(graph, context).graph;
    for (int i = 0; i < left.node_count(); ++i) types.push_back(left.node(i).type());
    std::ranges::sort(types);
    std::string text;
    for (const std::string& type : types) text += join(text.empty() ? "" : " ", type);
    return text;
  }
};

struct Addition {
  const char* what;
  std::function<Value(Convolved&)> result;
  const char* fused;  // the remaining nodes
  const char* note = "";
};
const std::vector<Addition> kAdditions{
    {"with ReLU", [](Convolved& c) { return relu(c.graph, add(c.graph, c.convolution("a"), c.x)); },
     "FusedConv", "1 of convolution, addition and ReLU: "},
    {"of the second operand",
     [](Convolved& c) { return relu(c.graph, add(c.graph, c.x, c.convolution("a"))); }, "FusedConv",
     "1 of convolution, addition and ReLU: "},
    {"alone", [](Convolved& c) { return add(c.graph, c.convolution("a"), c.x); }, "FusedConv",
     "1 of convolution and addition: "},
    {"of what is made later",
     [](Convolved& c) {
       const Value a = c.convolution("a");
       return add(c.graph, a, tanh(c.graph, c.x));
     },
     "FusedConv Tanh", "1 of convolution and addition: "},
    {"of two convolutions",
     [](Convolved& c) {
       const Value a = c.convolution("a");
       return relu(c.graph, add(c.graph, c.convolution("b"), a));
     },
     "Conv FusedConv", "1 of convolution, addition and ReLU: "},
    {"of two convolutions with ReLU",
     [](Convolved& c) {
       const Value a = relu(c.graph, c.convolution("a"));
       return add(c.graph, a, relu(c.graph, c.convolution("b")));
     },
     "Add FusedConv FusedConv", "2 of convolution and ReLU: "},
    {"of three convolutions",
     [](Convolved& c) {
       const Value a = c.convolution("a"), b = c.convolution("b"), d = c.convolution("d");
       return relu(c.graph, add(c.graph, add(c.graph, a, b), d));
     },
     "Conv FusedConv FusedConv", "1 of convolution and addition: "},
    {"of itself",
     [](Convolved& c) {
       const Value a = c.convolution("a");
       return add(c.graph, a, a);
     },
     "Add Conv"},
    {"that is spread",
     [](Convolved& c) {
       const Value by_channel = c.graph.input("by_channel", {DType::float32, {1, 3, 1, 1}});
       return relu(c.graph, add(c.graph, c.convolution("a"), by_channel));
     },
     "Add Conv Relu"},
    {"behind the ReLU",
     [](Convolved& c) { return add(c.graph, relu(c.graph, c.convolution("a")), c.x); },
     "Add FusedConv", "1 of convolution and ReLU: "},
    {"whose operand others read",
     [](Convolved& c) {
       const Value a = c.convolution("a");
       c.graph.output(tanh(c.graph, a));
       return relu(c.graph, add(c.graph, a, c.x));
     },
     "Add Conv Relu Tanh"},
    {"that others read",
     [](Convolved& c) {
       const Value sum = add(c.graph, c.convolution("a"), c.x);
       c.graph.output(tanh(c.graph, sum));
       return relu(c.graph, sum);
     },
     "FusedConv Relu Tanh", "1 of convolution and addition: "},
};

TEST(ConvolutionFusion, AddsToConvolutions) {
  for (const Addition& addition : kAdditions) {
    SCOPED_TRACE(addition.what);
    Convolved made;
    const Value y = addition.result(made);
    made.graph.output(y);
    EXPECT_EQ(made.fused(), addition.fused);
    const Rewritten rewritten = fuse_convolutions(made.graph, {});
    const Graph& graph = rewritten.graph;
    EXPECT_EQ(graph.name(graph.outputs().back()), made.graph.name(y));
    EXPECT_EQ(graph.shape(graph.outputs().back()), made.graph.shape(y));
    if (*addition.note) {
      ASSERT_FALSE(rewritten.notes.empty());
      EXPECT_EQ(rewritten.notes.front().rfind(addition.note, 0), 0U) << rewritten.notes.front();
    } else {
      EXPECT_TRUE(rewritten.notes.empty());
    }
  }
}

// The later convolution adds, because the other result then exists.
TEST(ConvolutionFusion, AddsToTheLaterOfTwoConvolutions) {
  for (const bool turned : {false, true}) {
    Convolved made;
    const Value a = made.convolution("a"), b = made.convolution("b");
    made.graph.output(turned ? add(made.graph, b, a, "sum") : add(made.graph, a, b, "sum"));
    const Graph fused = fuse_convolutions(made.graph, {}).graph;
    ASSERT_EQ(fused.node_count(), 2);
    EXPECT_EQ(fused.name(fused.node(1).inputs()[ConvIn::w]), "b_w");
    EXPECT_EQ(fused.name(fused.node(1).inputs()[ConvIn::z]), "a");
    EXPECT_FALSE(fused.node(1).inputs()[ConvIn::bias]);
  }
}

TEST(ConvolutionFusion, LeavesWhatOthersReadByNameBehindConvolutions) {
  Convolved made;
  const Value a = made.convolution("a"), sum = add(made.graph, a, made.x, "sum");
  made.graph.output(relu(made.graph, sum, "relu"));
  EXPECT_EQ(made.fused({{"relu"}}), "FusedConv");
  EXPECT_EQ(made.fused({{"sum"}}), "FusedConv Relu");
  EXPECT_EQ(made.fused({{"a"}}), "Add Conv Relu");
}

// Replicas compute on separate devices.
TEST(ConvolutionFusion, LeavesAnAdditionOfAnotherReplica) {
  Convolved made;
  made.graph.set_replica(0);
  const Value a = made.convolution("a");
  made.graph.set_replica(1);
  made.graph.output(relu(made.graph, add(made.graph, a, made.x, "sum"), "relu"));
  EXPECT_EQ(made.fused(), "Add Conv Relu");
}

// A CPU may convolve 16-bit floats in float32, and would round the sum once instead of twice.
TEST(ConvolutionFusion, LeavesAdditionsOf16BitsOnCpus) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
    Graph graph(all_ops(), "net");
    const Value x = graph.input("x", {type, {2, 3, 4, 4}});
    const Value y = conv(graph, x, graph.input("w", {type, {3, 3, 1, 1}}), none, {}, "conv");
    graph.output(relu(graph, add(graph, y, x, "sum"), "relu"));
    EXPECT_EQ(fuse_convolutions(graph, {}).graph.node_count(), type == DType::float32 ? 1 : 3);
    EXPECT_EQ(fuse_convolutions_and_sums(graph, {}).graph.node_count(), 1);
  }
}

// Only kernels on units for 16-bit floats add in the same pass.
TEST(ConvolutionFusion, MeasuresOnlyWhereAsked) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::bfloat16, {2, 3, 4, 4}});
  const Value w = graph.input("w", {DType::bfloat16, {3, 3, 1, 1}});
  auto vector = [&](const char* name) { return graph.input(name, {DType::float32, {3}}); };
  const Value y = conv(graph, x, w, none, {}, "conv");
  graph.output(batch_norm_train(
                   graph, {y, vector("scale"), vector("bias"), vector("mean"), vector("variance")},
                   {}, "norm")
                   .y);
  EXPECT_TRUE(fuse_convolutions(graph, {}).notes.empty());
  EXPECT_EQ(fuse_convolutions_and_sums(graph, {}).notes.size(), 1U);
}

TEST(ConvolutionFusion, LeavesConvolutionsThatOthersRead) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  const Value w = graph.input("w", {DType::float32, {5, 3, 2, 2}});
  const Value y = graph.add_value(
      {.type = "Conv", .inputs = {x, w}, .attributes = {{"auto_pad", "SAME_UPPER"}}}, "conv");
  graph.output(relu(graph, y, "relu"));
  const Rewritten fused = fuse_convolutions(graph, {});
  ASSERT_EQ(fused.graph.node_count(), 1);
  EXPECT_EQ(fused.graph.node(0).type(), "FusedConv");
  EXPECT_EQ(fused.graph.shape(fused.graph.outputs()[0]), (Shape{2, 5, 4, 4}));
  EXPECT_EQ(fuse_convolutions(graph, {{graph.name(y)}}).graph.node_count(), 2);
  graph.output(tanh(graph, y, "other"));
  EXPECT_EQ(fuse_convolutions(graph, {}).graph.node_count(), 3);
  EXPECT_TRUE(fuse_convolutions(graph, {}).notes.empty());
}

}  // namespace
}  // namespace lockstep::testing
