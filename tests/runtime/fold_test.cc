// SPDX-License-Identifier: Apache-2.0
// Compares predictions with batch norms folded into convolutions with predictions of separate
// nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/passes/precision.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "operators/conv/conv.h"
#include "operators/conv/winograd/loops.h"
#include "runtime/accelerator.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/compile.h"
#include "tests/support/fold_net.h"

namespace lockstep::testing {
namespace {

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max<double>(most, std::abs(value));
  return most;
}
double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const double apart = std::abs(double{a[i]} - b[i]); !(apart <= most)) {
      if (std::isnan(apart)) return apart;  // a NaN is above every bound
      most = apart;
    }
  return most;
}
double mean_square(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum / static_cast<double>(a.size());
}

// A sum of 576 products, the longest here, has an error of some 1e-6 of the largest product, and so
// do both predictions. In bfloat16, the test compares both distances from float32's prediction.
// Folding rounds a channel's shift for all of its pixels at once, so the distance may be 1.6 times
// as large.
void expect_like_single_nodes(const FoldNet& net, FoldWay way, int folded, int left = 0) {
  FoldedPrediction fused = predicted_by(net, way);
  way.rewrites = false;
  const FoldedPrediction single = predicted_by(net, way);
  EXPECT_EQ(fused.folded, folded) << fused.plan;
  EXPECT_EQ(fused.steps["BatchNormalization"] + fused.steps["FusedBatchNorm"], left) << fused.plan;
  EXPECT_EQ(single.folded, 0);
  if (way.precision == DType::float32) {
    EXPECT_LE(largest_difference(fused.y, single.y), 3e-6 * largest(single.y));
    return;
  }
  const std::vector<float> exact = predicted_by(net, {.rewrites = false}).y;
  EXPECT_LE(largest_difference(fused.y, exact), 0.02 * largest(exact));
  EXPECT_LE(mean_square(fused.y, exact), 1.6 * 1.6 * mean_square(single.y, exact));
}

class Folding : public ::testing::TestWithParam<std::tuple<FoldDevice, DType>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) != FoldDevice::gpu) return;
    for (const KernelTable& table : all_kernels())
      if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() > 0) return;
    GTEST_SKIP() << "skipped: no GPU";
  }
  static FoldWay way() { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

std::string name_of_way(const ::testing::TestParamInfo<std::tuple<FoldDevice, DType>>& info) {
  const char* const names[] = {"cpu", "queues", "gpu"};
  return join(names[static_cast<int>(std::get<0>(info.param))], "_", std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Everywhere, Folding,
                         ::testing::Combine(::testing::Values(FoldDevice::cpu, FoldDevice::queues,
                                                              FoldDevice::gpu),
                                            ::testing::Values(DType::float32, DType::bfloat16)),
                         name_of_way);

struct Windows {
  const char* name;
  int64_t inputs, outputs, side;
  ConvAttrs attrs = {};
  int64_t images = 2, height = 13;
};
ConvAttrs windows(int64_t pad, int64_t stride = 1, int64_t dilation = 1, int64_t group = 1) {
  return {.window = {.strides = {stride, stride},
                     .pads = {pad, pad, pad, pad},
                     .dilations = {dilation, dilation}},
          .group = group};
}
const Windows kWindows[] = {{"one by one", 6, 7, 1},
                            {"padded block", 16, 28, 1},
                            {"blocks", 16, 16, 3, windows(1)},
                            {"odd", 5, 9, 2},
                            {"Winograd", 64, 64, 3, windows(1), 6, 28},
                            {"stride", 8, 16, 3, windows(1, 2)},
                            {"dilation", 4, 6, 3, windows(2, 1, 2)},
                            {"groups", 8, 12, 3, windows(1, 1, 1, 4)},
                            {"depthwise", 16, 16, 3, windows(1, 1, 1, 16)}};

struct Ending {
  const char* name;
  std::function<Value(FoldNet&, Value norm)> end;
  int adds = 0;  // that stay after the convolution
};
const Ending kEndings[] = {
    {"none", [](FoldNet&, Value y) { return y; }},
    {"ReLU", [](FoldNet& net, Value y) { return relu(net.graph, y); }},
    {"addition, ReLU",
     [](FoldNet& net, Value y) {
       const Value z = net.feed("z", to_dims(net.graph.shape(y)));
       return relu(net.graph, add(net.graph, y, z));
     }},
    {"addition of the second operand",
     [](FoldNet& net, Value y) {
       const Value z = net.feed("z", to_dims(net.graph.shape(y)));
       return add(net.graph, z, y);
     }},
    {"ReLU, addition",
     [](FoldNet& net, Value y) {
       const Value z = net.feed("z", to_dims(net.graph.shape(y)));
       return add(net.graph, relu(net.graph, y), z);
     },
     1},
    {"Clip", [](FoldNet& net, Value y) { return clip(net.graph, y, 0, 6); }},
};

TEST_P(Folding, ComputesTheSameForAllWindowsAndEndings) {
  for (const Windows& w : kWindows)
    for (const Ending& ending : kEndings)
      for (const bool bias : {false, true}) {
        if (bias && &ending != &kEndings[2]) continue;
        SCOPED_TRACE(join(w.name, ", ", ending.name, bias ? ", bias" : ""));
        FoldNet net;
        const Value x = net.feed("x", {w.images, w.inputs, w.height, 14});
        const Value y = net.convolve(x, w.outputs, w.side, w.attrs, bias, "conv");
        net.graph.output(ending.end(net, net.norm(y, "norm")));
        expect_like_single_nodes(net, way(), 1);
        FoldedPrediction fused = predicted_by(net, way());
        if (&w == &kWindows[4] && way().where == FoldDevice::cpu &&
            way().precision == DType::float32 && winograd::loops_here()) {
          EXPECT_NE(fused.plan.find("[Winograd, "), std::string::npos) << fused.plan;
        }
        if (way().precision != DType::float32) continue;  // z is in float32
        EXPECT_EQ(fused.steps["Relu"], 0) << fused.plan;
        EXPECT_EQ(fused.steps["Add"], ending.adds) << fused.plan;
        EXPECT_EQ(fused.steps["Mul"], 0) << fused.plan;  // filters are computed in advance
      }
}

TEST_P(Folding, TakesBothConvolutionsThatMeet) {
  FoldNet net;
  const Value x = net.feed("x", {2, 16, 9, 8});
  const Value a = net.norm(net.convolve(x, 32, 3, windows(1, 2), false, "a"), "a_norm");
  const Value b = net.norm(net.convolve(x, 32, 1, windows(0, 2), true, "b"), "b_norm");
  const Value y = relu(net.graph, add(net.graph, a, b));
  net.graph.output(net.norm(net.convolve(y, 8, 1, {}, false, "c"), "c_norm"));
  expect_like_single_nodes(net, way(), 3);
  const FoldedPrediction fused = predicted_by(net, way());
  const bool adds = way().where != FoldDevice::cpu || way().precision == DType::float32;
  EXPECT_EQ(fused.plan.find("fused: 1 of convolution, addition and ReLU: ") != std::string::npos,
            adds)
      << fused.plan;
}

TEST_P(Folding, TakesTransposedConvolutions) {
  for (const int64_t group : {1, 2}) {
    FoldNet net;
    const Value x = net.feed("x", {2, 6, 5, 4});
    const Value w = net.state("w", Dims{6, 4 / group, 2, 2});
    const Value y = conv_transpose(net.graph, x, w, none, windows(0, 2, 1, group), "up");
    net.graph.output(relu(net.graph, net.norm(y, "norm")));
    expect_like_single_nodes(net, way(), group == 1 ? 1 : 0, group == 1 ? 0 : 1);
  }
}

struct Special {
  const char* what;
  std::function<void(FoldNet&, Value x, Value y)> build;  // y: the convolution's result
  int folded, left;
};
const Special kSpecial[] = {
    {"no epsilon",
     [](FoldNet& net, Value, Value y) {
       net.graph.output(batch_norm(net.graph, net.norm_of(y, "norm"), {.epsilon = 0}));
     },
     1, 0},
    {"no variance",
     [](FoldNet& net, Value, Value y) {
       BatchNormOperands of = net.norm_of(y, "norm");
       of.variance = net.state("zero", Literal::of<float>(std::vector<float>(8, 0), {8}));
       net.graph.output(batch_norm(net.graph, of, {.epsilon = 1e-5F}));
     },
     1, 0},
    {"statistics made of states",
     [](FoldNet& net, Value, Value y) {
       BatchNormOperands of = net.norm_of(y, "norm");
       of.variance = mul(net.graph, of.variance, of.variance);
       net.graph.output(batch_norm(net.graph, of, {}));
     },
     1, 0},
    {"a constant scale",
     [](FoldNet& net, Value, Value y) {
       BatchNormOperands of = net.norm_of(y, "norm");
       of.scale = net.graph.constant("ones", Literal::of<float>(std::vector<float>(8, 1), {8}));
       net.graph.output(batch_norm(net.graph, of, {}));
     },
     1, 0},
    {"a scale that is fed",
     [](FoldNet& net, Value, Value y) {
       BatchNormOperands of = net.norm_of(y, "norm");
       of.scale = net.feed("fed_scale", {8});
       net.graph.output(batch_norm(net.graph, of, {}));
     },
     0, 1},
    {"a bias made of what is fed",
     [](FoldNet& net, Value, Value y) {
       BatchNormOperands of = net.norm_of(y, "norm");
       of.bias = tanh(net.graph, net.feed("fed_bias", {8}));
       net.graph.output(batch_norm(net.graph, of, {}));
     },
     0, 1},
    {"filters that are fed",
     [](FoldNet& net, Value x, Value) {
       const Value y = conv(net.graph, x, net.feed("fed_w", {8, 4, 1, 1}));
       net.graph.output(net.norm(y, "norm"));
     },
     0, 1},
    {"a result that is fetched",
     [](FoldNet& net, Value, Value y) {
       net.graph.output(net.norm(y, "norm"));
       net.graph.output(y);
     },
     0, 1},
    {"two readers",
     [](FoldNet& net, Value, Value y) {
       net.graph.output(add(net.graph, net.norm(y, "norm"), tanh(net.graph, y)));
     },
     0, 1},
    {"two batch norms",
     [](FoldNet& net, Value, Value y) {
       net.graph.output(add(net.graph, net.norm(y, "norm"), net.norm(y, "other")));
     },
     0, 2},
    {"a batch norm behind another",
     [](FoldNet& net, Value, Value y) { net.graph.output(net.norm(net.norm(y, "norm"), "other")); },
     1, 1},
    {"a ReLU before it",
     [](FoldNet& net, Value, Value y) { net.graph.output(net.norm(relu(net.graph, y), "norm")); },
     0, 1},
    {"names that are taken",
     [](FoldNet& net, Value, Value y) {
       const Value taken = net.state("conv/filters", Dims{2, 8, 13, 14});
       net.graph.output(add(net.graph, net.norm(y, "conv/shift"), taken, "conv/factor"));
     },
     1, 0},
};

TEST_P(Folding, TakesWhatDoesNotChangeBetweenPredictions) {
  for (const Special& special : kSpecial) {
    SCOPED_TRACE(special.what);
    FoldNet net;
    const Value x = net.feed("x", {2, 4, 13, 14});
    special.build(net, x, net.convolve(x, 8, 3, windows(1), true, "conv"));
    expect_like_single_nodes(net, way(), special.folded, special.left);
  }
}

FoldNet one_norm() {
  FoldNet net;
  const Value x = net.feed("x", {2, 4, 13, 14});
  net.graph.output(net.norm(net.convolve(x, 8, 3, windows(1), true, "conv"), "norm"));
  return net;
}

TEST_P(Folding, LeavesConvolutionsThatMustBeExact) {
  const FoldNet net = one_norm();
  FoldWay exact = way();
  exact.exact = true;
  EXPECT_EQ(predicted_by(net, exact).folded, 0);
  FoldWay single = exact;
  single.rewrites = false;
  EXPECT_EQ(predicted_by(net, exact).y, predicted_by(net, single).y);
}

// float16's range is too small for the factors.
TEST(FoldingOf, Float16StaysApart) {
  EXPECT_EQ(predicted_by(one_norm(), {.precision = DType::float16}).folded, 0);
}

// Graphs that change states, as a step does, are not folded.
TEST(FoldingOf, GraphsWithoutUpdates) {
  FoldNet net = one_norm();
  RewriteContext context;
  for (const auto& [name, value] : net.states) context.states.insert(name);
  EXPECT_EQ(fold_batch_norms(net.graph, context).notes.size(), 1U);
  const std::string y = net.graph.name(net.graph.outputs()[0]);
  context.updates = {{"conv_b", y}};
  EXPECT_TRUE(fold_batch_norms(net.graph, context).notes.empty());
}

// A filter is rounded to 16 bits after the multiplication.
TEST(FoldingOf, FiltersRoundsOnce) {
  const FoldNet net = one_norm();
  const Graph narrow = in_precision(net.graph, {.narrow = DType::bfloat16});
  RewriteContext context;
  for (const auto& [name, value] : net.states) context.states.insert(name);
  const Graph folded = fold_batch_norms(narrow, context).graph;
  for (int i = 0; i < folded.node_count(); ++i) {
    const Node node = folded.node(i);
    if (node.type() != "Cast" || node.outputs()[0] == folded.outputs()[0]) continue;
    const std::string& from = folded.name(node.inputs()[0]);
    EXPECT_TRUE(from == "x" || from == "conv/filters" || from == "conv/shift") << from;
  }
  const Node convolution = *folded.producer(folded.producer(folded.outputs()[0])->inputs()[0]);
  EXPECT_EQ(convolution.type(), "Conv");
  for (Value operand : convolution.inputs()) EXPECT_EQ(folded.dtype(operand), DType::bfloat16);
}

TEST(FoldingOf, EveryBatchNormOfPublishedNetworks) {
  for (const auto& [name, norms] :
       {std::pair("resnet18", 20), std::pair("resnet50", 53), std::pair("mobilenet_v2", 52)})
    for (const FoldDevice where : {FoldDevice::cpu, FoldDevice::queues}) {
      SCOPED_TRACE(name);
      const TrainingModel model = build_data_parallel_model(
          all_ops(), model_named(name, published_options(name)), MomentumSgd{});
      const FoldWay way{.where = where};
      std::vector<std::string> states;
      for (const State& state : model.states) states.push_back(state.values[0]);
      const Graph& graph = model.inference;
      FoldedPrediction predicted;
      count_folded(compile({.graph = graph,
                            .feeds = {"data"},
                            .feed_dims = {{1, 3, 224, 224}},
                            .fetches = {graph.name(graph.outputs()[0])},
                            .states = states,
                            .devices = {way.device()},
                            .kernels = way.kernels()}),
                   predicted);
      EXPECT_EQ(predicted.folded, norms);
      for (const char* gone : {"BatchNormalization", "FusedBatchNorm", "Relu"})
        EXPECT_FALSE(predicted.steps.contains(gone)) << gone << "\n" << predicted.plan;
    }
}

}  // namespace
}  // namespace lockstep::testing
