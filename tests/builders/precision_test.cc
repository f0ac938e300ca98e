// SPDX-License-Identifier: Apache-2.0
// Training on 16-bit floats: the narrow values, learning as well as float32, and the loss scale.
#include <gtest/gtest.h>

#include <cmath>

#include "builders/step/loss_scale.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

const Dims kImage{1, 6, 6};

// One layer of each kind, and a residual connection.
void network(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
  x = conv_layer(net, x, 8, {.kernel = 3, .pad = 1}, "conv1");
  Value y = relu(net.graph, batch_norm_layer(net, x, {}, "bn1"), "relu1");
  y = conv_layer(net, y, 8, {.kernel = 3, .pad = 1}, "conv2");
  y = relu(net.graph, add(net.graph, x, y, "sum"), "relu2");
  y = max_pool_layer(net, y, {.kernel = 2, .stride = 2}, "pool");
  y = flatten(net.graph, global_average_pool(net.graph, y, "global"), 1, "flat");
  classify(net, fc_layer(net, y, 5, {}, "pred"));
}

TrainingModel model_in(DType precision, int replicas = 1, DataParallelOptions options = {}) {
  options.replicas = replicas;
  options.scope = "cpu";
  options.precision = precision;
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

DType type_of(const Graph& graph, const std::string& name) { return graph.dtype(graph.at(name)); }

TEST(Precision, ConvolutionsAreNarrowAndWhatIsTrainedIsWide) {
  const TrainingModel model = model_in(DType::bfloat16);
  const Graph& step = model.step;
  for (const char* narrow : {"cpu_0/conv1", "cpu_0/bn1", "cpu_0/relu1", "cpu_0/sum", "cpu_0/pool",
                             "cpu_0/flat", "cpu_0/pred", "cpu_0/conv2_w/bfloat16"})
    EXPECT_EQ(type_of(step, narrow), DType::bfloat16) << narrow;
  for (const Replicated& gradient : model.gradients)
    EXPECT_EQ(type_of(step, gradient.values[0]), DType::float32) << gradient.values[0];
  for (const State& state : model.states)
    EXPECT_EQ(type_of(step, state.values[0]), DType::float32) << state.name;
  for (const Binding& update : model.updates)
    EXPECT_EQ(type_of(step, update.value), DType::float32) << update.value;
  EXPECT_EQ(type_of(step, model.losses[0].values[0]), DType::float32);
  int casts_of_weight = 0;  // one cast, used in both the forward and the backward pass
  for (int user : step.consumers(step.at("cpu_0/conv2_w")))
    casts_of_weight += step.node(user).type() == "Cast";
  EXPECT_EQ(casts_of_weight, 1);
  for (int id = 0; id < model.inference.value_count(); ++id)
    EXPECT_NE(model.inference.dtype({id}), DType::bfloat16) << model.inference.name({id});
}

TEST(Precision, IsInTheFile) {
  for (DType precision : {DType::bfloat16, DType::float16}) {
    const TrainingModel model = model_in(precision, 2);
    verify(model);
    TemporaryFolder folder;
    save_model(model, folder / "step.onnx");
    const TrainingModel read = load_model(all_ops(), folder / "step.onnx").model;
    EXPECT_TRUE(train(read, 8, 2, kImage) == train(model, 8, 2, kImage));
  }
}

TEST(Precision, TrainsLikeFloat32) {
  const StateValues wide = train(model_in(DType::float32), 16, 20, kImage);
  for (DType precision : {DType::bfloat16, DType::float16}) {
    const TrainingModel model = model_in(precision);
    const StateValues narrow = train(model, 16, 20, kImage);
    for (const State& state : model.states) {
      if (state.kind != StateKind::weight) continue;
      const auto a = wide.at(state.values[0]).values<float>();
      const auto b = narrow.at(state.values[0]).values<float>();
      double apart = 0, size = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += a[i] * a[i];
      }
      EXPECT_LT(std::sqrt(apart / size), precision == DType::float16 ? 0.01 : 0.05)
          << state.name << " in " << precision;
      EXPECT_GT(apart, 0) << "no value was rounded";
    }
  }
}

// The loss scale of a session after each step.
class Scaled {
 public:
  explicit Scaled(const LossScaling& scaling, int replicas = 1)
      : model_(model_in(DType::float16, replicas, {.loss_scaling = scaling})),
        session_(model_, cpu_devices(replicas), all_kernels(), {5, 1, {}}),
        feeds_(model_, 8, 5, kImage) {
    session_.initialise();
  }
  float step() {
    session_.step().run(feeds_.at(step_, 0.05F), session_.run_options(step_));
    ++step_;
    return scale();
  }
  float scale() { return session_.save().at("cpu_0/loss_scale").values<float>()[0]; }
  StateValues states() { return session_.save(); }

 private:
  TrainingModel model_;
  Session session_;
  StepFeeds feeds_;
  uint64_t step_ = 0;
};

TEST(LossScale, DoublesAfterSoundStepsUpToItsLimit) {
  Scaled run({.first = 256, .most = 1024, .growth_steps = 3});
  std::vector<float> scales;
  for (int i = 0; i < 10; ++i) scales.push_back(run.step());
  EXPECT_EQ(scales, (std::vector<float>{256, 256, 512, 512, 512, 1024, 1024, 1024, 1024, 1024}));
}

TEST(LossScale, AStepThatOverflowsChangesNothingAndHalvesIt) {
  for (int replicas : {1, 2}) {
    Scaled run({.first = 0x1p40F, .most = 0x1p40F}, replicas);
    StateValues before = run.states();
    EXPECT_EQ(run.step(), 0x1p39F);
    for (const auto& [name, value] : run.states())
      if (name.find("loss_scale") == std::string::npos) {
        EXPECT_TRUE(value == before.at(name)) << name;
      }
    int steps = 0;
    while (++steps < 60) {
      const float scale = run.scale();
      if (run.step() == scale) break;
    }
    EXPECT_LT(steps, 40) << "it settles where gradients are finite";
    EXPECT_FALSE(run.states().at("cpu_0/conv1_w") == before.at("cpu_0/conv1_w"));
  }
}

// At its limit the scale grows, overflows and halves repeatedly, with the same number of finite
// steps in between.
TEST(LossScale, CountsSoundStepsFromTheLastOverflow) {
  constexpr int kGrowth = 3;
  Scaled run({.first = 0x1p40F, .most = 0x1p60F, .growth_steps = kGrowth});
  int sound = 0, overflows = 0, growths_after_overflow = 0;
  for (int i = 0; i < 60; ++i) {
    const float before = run.scale(), after = run.step();
    if (after < before) {
      sound = 0;
      ++overflows;
      continue;
    }
    ++sound;
    if (after == before) continue;
    EXPECT_EQ(sound, kGrowth) << "step " << i;
    sound = 0;
    growths_after_overflow += overflows > 0;
  }
  EXPECT_GT(growths_after_overflow, 3);
}

// Scaling by a power of two is exact if nothing overflows or underflows, so the scale has no
// effect.
TEST(LossScale, LeavesGradientsAsTheyAre) {
  auto trained = [](float scale) {
    Scaled run({.first = scale, .most = scale});
    for (int i = 0; i < 3; ++i) run.step();
    return run.states();
  };
  const StateValues a = trained(64), b = trained(128);
  for (const auto& [name, value] : a) {
    if (name.find("loss_scale") != std::string::npos) continue;
    const auto x = value.values<float>(), y = b.at(name).values<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], y[i], 1e-3 * std::max(0.1F, std::abs(x[i]))) << name << " element " << i;
  }
}

TEST(Precision, GoesWithMicroBatchesClippingAndDeferredGradients) {
  for (DType precision : {DType::bfloat16, DType::float16}) {
    DataParallelOptions options{.micro_batches = 2, .deferred = true, .clip = {.norm = 0.5F}};
    const TrainingModel model = model_in(precision, 2, options);
    verify(model);
    const StateValues states = train(model, 16, 4, kImage);
    for (float value : states.at("cpu_1/conv1_w").values<float>())
      EXPECT_TRUE(std::isfinite(value));
    EXPECT_FALSE(states == train(model, 16, 3, kImage));
  }
}

TEST(Precision, OthersAreRefused) {
  expect_error([] { model_in(DType::float64); }, "precision", "float16 or bfloat16", "float64");
}

}  // namespace
}  // namespace lockstep::testing
