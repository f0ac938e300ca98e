// SPDX-License-Identifier: Apache-2.0
// Fused steps give the bits of the separate nodes. CPU kernels behind queues get the rewrites of a
// GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "builders/optimizers/decay.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session_options.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/pool/pool.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TrainingModel model_of(int replicas, DType precision = DType::float32) {
  return small_residual({.replicas = replicas, .precision = precision});
}

StateValues trained(const TrainingModel& model, bool fused) {
  SessionOptions options{.seed = 5, .threads = 1};
  options.compile.rewrites = fused;
  Session session(model, gpu_devices(model.replicas), queued_kernels(), options);
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  for (int64_t step = 0; step < 4; ++step)
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  return session.save();
}

TEST(Fusion, GivesTheBitsOfSingleNodes) {
  for (int replicas : {1, 2}) {
    const TrainingModel model = model_of(replicas);
    EXPECT_TRUE(trained(model, true) == trained(model, false)) << replicas << " replicas";
    EXPECT_TRUE(trained(model, true) == train(model, 8, 4, kSmall)) << "a CPU without queues";
  }
}

struct Updates {
  const char* type;
  Optimizer optimizer;
};
const std::vector<Updates> kUpdates{
    {"MomentumSGDUpdate", MomentumSgd{0.8F, true}},
    {"MomentumSGDUpdate", Nesterov{0.8F, true}},
    {"MomentumSGDUpdate", Lars{.trust = 0.01F, .correct_momentum = true}},
    {"AdamUpdate", Adam{.beta1 = 0.5F}},
    {"AdamWUpdate", AdamW{}},
    {"RMSPropUpdate", RmsProp{.momentum = 0.5F}},
    {"CentredRMSPropUpdate", RmsProp{.centred = true}},
    {"AdagradUpdate", Adagrad{.rate_decay = 0.1F}},
    {"LionUpdate", Lion{}}};

TEST(Fusion, GivesTheBitsWhateverTheUpdate) {
  for (const auto& [type, optimizer] : kUpdates) {
    SCOPED_TRACE(type);
    const TrainingModel model =
        small_residual({.replicas = 2,
                        .rules = {.weight_decay = 0.01F, .weight_decay_norm = 0.001F},
                        .skip_non_finite = true},
                       optimizer);
    EXPECT_TRUE(trained(model, true) == trained(model, false));
    EXPECT_TRUE(trained(model, true) == train(model, 8, 4, kSmall));
  }
}

TEST(Fusion, RoundsLessOn16Bits) {
  const TrainingModel model = model_of(1, DType::bfloat16);
  const StateValues fused = trained(model, true), single = trained(model, false);
  for (const auto& [name, value] : single) {
    const auto a = value.values<float>(), b = fused.at(name).values<float>();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.1) << name << " " << i;
  }
}

struct Counted {
  int relus = 0, adds = 0, sums = 0, norms = 0, updates = 0, convolutions = 0;
  std::string text;
};

Counted plan_of(bool fused, DType precision = DType::float32) {
  const TrainingModel model = model_of(1, precision);
  SessionOptions options{.seed = 5, .threads = 1};
  options.compile.rewrites = fused;
  Session session(model, gpu_devices(1), queued_kernels(), options);
  StepFeeds feeds(model, 8, 5, kSmall);
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.05F));
  Counted counted;
  for (const PlanStep& step : plan.steps) {
    counted.relus += step.type == "Relu" || step.type == "ReluGrad";
    counted.adds += step.type == "Add";
    counted.sums += step.type == "Sum";
    counted.convolutions += step.type == "Conv";
    counted.norms += step.type == "BatchNormTrain";
    counted.updates += step.type.find("Update") != step.type.npos || step.type == "WeightedSum" ||
                       step.type == "Scale";
  }
  counted.text = text_of(plan);
  return counted;
}

TEST(Fusion, OfUpdatesIsOneLaunch) {
  for (const auto& [type, optimizer] : kUpdates)
    for (const bool skips : {false, true}) {
      const TrainingModel model = small_residual(
          {.replicas = 2, .rules = {.weight_decay_norm = 0.001F}, .skip_non_finite = skips},
          optimizer);
      Session session(model, gpu_devices(2), queued_kernels(), {.seed = 5, .threads = 1});
      StepFeeds feeds(model, 8, 5, kSmall);
      const std::string text = text_of(plan_of(session.step(), feeds.at(0, 0.05F)));
      EXPECT_NE(text.find(join(type, "s ")), std::string::npos) << text;
      EXPECT_EQ(text.find(join(type, " ")), std::string::npos);
      EXPECT_NE(text.find("fused: 19 updates of replica 1: one launch"), std::string::npos);
    }
}

// The operand `decay` differs in meaning from a decay in the gradient before the update.
TEST(Fusion, LeavesADecayInTheGradientWhereTheUpdateDecouplesIts) {
  const auto decays_both = [](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
    ParamUpdate decayed = update;
    decayed.gradient = decayed_gradient(graph, update.param, update.gradient, 0.25F);
    return Optimizer(AdamW{}).update(graph, decayed);
  };
  Optimizer optimizer = AdamW{};
  optimizer.update = decays_both;
  const TrainingModel model =
      small_residual({.replicas = 2, .rules = {.weight_decay = 0.01F}}, optimizer);
  EXPECT_TRUE(trained(model, true) == trained(model, false));
}

TEST(Fusion, IsInThePlanWithItsReason) {
  const Counted single = plan_of(false), fused = plan_of(true);
  EXPECT_EQ(single.relus, 10);
  EXPECT_EQ(single.adds, 2);
  EXPECT_EQ(fused.relus, 1);  // the gradient of the ReLU after a convolution
  EXPECT_EQ(single.convolutions, 6);
  EXPECT_EQ(fused.convolutions, 5);
  EXPECT_EQ(fused.adds, 0);
  EXPECT_EQ(fused.norms, single.norms);
  EXPECT_EQ(fused.updates, 1);
  EXPECT_GT(single.updates, 19);
  EXPECT_NE(fused.text.find("fused: 2 of batch norm and ReLU: "), std::string::npos) << fused.text;
  EXPECT_NE(fused.text.find("fused: 2 of batch norm, addition and ReLU: "), std::string::npos);
  EXPECT_NE(fused.text.find("fused: 4 of the gradients"), std::string::npos);
  EXPECT_NE(fused.text.find("fused: 19 updates of replica 0: one launch"), std::string::npos);
  EXPECT_NE(fused.text.find("fused: 1 of convolution and ReLU: "), std::string::npos);
  EXPECT_EQ(single.sums, 2);
  EXPECT_EQ(fused.sums, 0);
  EXPECT_NE(fused.text.find("fused: 2 of a convolution's gradient and the sum behind it: "),
            std::string::npos);
  EXPECT_EQ(single.text.find("fused: "), std::string::npos);
}

// Predictions and frozen layers normalise with given statistics.
TEST(Fusion, TakesGivenStatisticsToo) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  const Value z = graph.input("z", {DType::float32, {2, 3, 4, 4}});
  auto vector = [&](const char* name) { return graph.input(name, {DType::float32, {3}}); };
  const BatchNormOperands operands{x, vector("scale"), vector("bias"), vector("mean"),
                                   vector("variance")};
  const Value y = batch_norm(graph, operands, {.epsilon = 0.25F}, "norm");
  graph.output(relu(graph, add(graph, z, y, "sum"), "relu"));
  const Graph fused = fuse_batch_norms(graph, {}).graph;
  ASSERT_EQ(fused.node_count(), 1);
  EXPECT_EQ(fused.node(0).type(), "FusedBatchNorm");
  EXPECT_EQ(fused.name(fused.node(0).inputs()[5]), "z");
  EXPECT_EQ(read_batch_norm(fused.node(0)).epsilon, 0.25F);
  EXPECT_FALSE(read_batch_norm(fused.node(0)).training);
}

// 16-bit floats run on units that can add in the same pass.
TEST(Fusion, MeasuresConvolutionsOf16Bits) {
  const Counted fused = plan_of(true, DType::bfloat16);
  EXPECT_EQ(fused.convolutions, 0);
  EXPECT_NE(fused.text.find("fused: 5 of convolution and the sums of batch norm: "),
            std::string::npos)
      << fused.text;
}

// If the gradient has the windows of a preceding MaxPool, and their offsets fit a byte.
TEST(Fusion, KeepsThePlacesOfMaxima) {
  const TrainingModel model = small_lenet(2);
  const auto train = [&](bool fused) {
    SessionOptions options{.seed = 5, .threads = 1};
    options.compile.rewrites = fused;
    Session session(model, gpu_devices(2), queued_kernels(), options);
    session.initialise();
    StepFeeds feeds(model, 8, 5, {1, 28, 28});
    for (int64_t step = 0; step < 3; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    const std::string text = text_of(plan_of(session.step(), feeds.at(0, 0.05F)));
    EXPECT_EQ(text.find("MaxPoolPlacesGrad") != text.npos, fused);
    EXPECT_EQ(text.find("fused: 4 of maxima: their places are kept") != text.npos, fused) << text;
    return session.save();
  };
  EXPECT_TRUE(train(true) == train(false));
}

TEST(Fusion, FindsMaximaAgainWhereTheirPlacesAreNotKept) {
  const auto kept = [](const std::vector<int64_t>& kernel, int64_t stride_back) {
    Graph graph(all_ops(), "net");
    const Value x = graph.input("x", {DType::float32, {2, 3, 40, 40}});
    const auto node = [&](const char* type, const char* domain, std::vector<Value> inputs,
                          const std::vector<int64_t>& kernel, int64_t stride) {
      const Attributes attributes{{"kernel_shape", kernel},
                                  {"strides", std::vector<int64_t>{stride, stride}}};
      return graph.add_value({type, domain, std::move(inputs), attributes}, type);
    };
    const Value y = node("MaxPool", "", {x}, kernel, 31);
    const Value dy = graph.input("dy", {DType::float32, graph.shape(y)});
    graph.output(y);
    graph.output(node("MaxPoolGrad", kOwnDomain, {dy, x}, kernel, stride_back));
    return keep_places_of_maxima(graph, {}).notes.size();
  };
  EXPECT_EQ(kept({2, 2}, 31), 1U);
  EXPECT_EQ(kept({2, 2}, 30), 0U);  // the same number of windows, at other positions
  EXPECT_EQ(kept({15, 17}, 31), 1U);
  EXPECT_EQ(kept({16, 16}, 31), 0U);
}

// A MaxPool with windows too large for a byte makes the same number of maxima from the same images.
TEST(Fusion, FindsTheMaxPoolOfAGradientAmongOthers) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {2, 3, 40, 40}});
  const auto windows = [](int64_t side) {
    return Attributes{{"kernel_shape", std::vector<int64_t>{side, side}},
                      {"pads", std::vector<int64_t>(4, side / 2)}};
  };
  for (int64_t side : {17, 3, 5})
    graph.output(graph.add_value({"MaxPool", "", {x}, windows(side)}, join("y", side)));
  const Value dy = graph.input("dy", {DType::float32, graph.shape(x)});
  graph.output(graph.add_value({"MaxPoolGrad", kOwnDomain, {dy, x}, windows(3)}, "dx"));
  const Rewritten kept = keep_places_of_maxima(graph, {});
  EXPECT_EQ(kept.notes.size(), 1U);
  EXPECT_EQ(kept.graph.producer(kept.graph.at("y17"))->type(), "MaxPool");
  EXPECT_EQ(kept.graph.producer(kept.graph.at("y3"))->type(), "MaxPoolPlaces");
}

// Values that are fetched by name stay, as do values with two readers.
TEST(Fusion, LeavesWhatOthersRead) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  auto vector = [&](const char* name) { return graph.input(name, {DType::float32, {3}}); };
  const BatchNormOperands operands{x, vector("scale"), vector("bias"), vector("mean"),
                                   vector("variance")};
  const Value y = batch_norm_train(graph, operands, {}, "norm").y;
  graph.output(relu(graph, y, "relu"));
  auto relus = [](const Graph& of) {
    int count = 0;
    for (int i = 0; i < of.node_count(); ++i) count += of.node(i).type() == "Relu";
    return count;
  };
  EXPECT_EQ(relus(fuse_batch_norms(graph, {}).graph), 0);
  EXPECT_EQ(relus(fuse_batch_norms(graph, {{graph.name(y)}}).graph), 1);
  graph.output(tanh(graph, y, "other"));
  EXPECT_EQ(relus(fuse_batch_norms(graph, {}).graph), 1);
  EXPECT_TRUE(fuse_batch_norms(graph, {}).notes.empty());
}

// The later gradient in the graph adds to the other gradient, at any position of the sum.
TEST(Fusion, AddsGradientsWhereTheLaterOneIsMade) {
  enum Order { other_first, other_last, both_convolutions };
  for (const Order order : {other_first, other_last, both_convolutions}) {
    Graph graph(all_ops(), "net");
    const Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
    const Value w = graph.input("w", {DType::float32, {3, 3, 1, 1}});
    const auto gradient = [&](const char* name) {
      return graph.add_value({.type = "ConvGradX",
                              .domain = kOwnDomain,
                              .inputs = {x, w},
                              .attributes = {{"x_shape", std::vector<int64_t>{4, 4}}}},
                             name);
    };
    const Value first = order == other_first ? tanh(graph, x, "a") : gradient("a");
    const Value second = order == other_last ? tanh(graph, x, "b") : gradient("b");
    const Value sum = graph.add_value({.type = "Sum", .inputs = {first, second}}, "sum");
    graph.output(sum);
    const Graph fused = fuse_gradient_sums(graph, {}).graph;
    ASSERT_EQ(fused.node_count(), 2) << order;
    EXPECT_EQ(fused.node(1).type(), "FusedConvGradX") << order;
    EXPECT_EQ(fused.name(fused.outputs()[0]), "sum");
    EXPECT_EQ(fused.name(fused.node(1).inputs()[2]), order == other_last ? "b" : "a") << order;
    EXPECT_EQ(fuse_gradient_sums(graph, {{"a", "b"}}).graph.node_count(), 3) << order;
  }
}

TEST(Fusion, LeavesGradientsThatOthersRead) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  const Value w = graph.input("w", {DType::float32, {3, 3, 1, 1}});
  const Value dx = graph.add_value({.type = "ConvGradX",
                                    .domain = kOwnDomain,
                                    .inputs = {x, w},
                                    .attributes = {{"x_shape", std::vector<int64_t>{4, 4}}}},
                                   "dx");
  graph.output(graph.add_value({.type = "Sum", .inputs = {dx, x}}, "sum"));
  graph.output(tanh(graph, dx, "other"));
  EXPECT_EQ(fuse_gradient_sums(graph, {}).graph.node_count(), 3);
  EXPECT_TRUE(fuse_gradient_sums(graph, {}).notes.empty());
}

}  // namespace
}  // namespace lockstep::testing
