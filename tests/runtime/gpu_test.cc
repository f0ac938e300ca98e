// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU. They are skipped without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/state/replica_divergence.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const KernelTable& table : all_kernels())
      if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() > 0) return;
    GTEST_SKIP() << "skipped: no GPU";
  }
};

struct Training {
  const TrainingModel& model;
  Dims image;
  int64_t batch = 16;
  int64_t steps = 10;
  bool tf32 = false;
};

StateValues trained(const Training& run, const std::string& devices) {
  Session session(run.model, parse_devices(devices), all_kernels(),
                  {.seed = 1, .compile = {.tf32 = run.tf32}});
  session.initialise();
  StepFeeds feeds(run.model, run.batch, 5, run.image);
  for (int64_t step = 0; step < run.steps; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    EXPECT_EQ(find_divergence(session), "");
  }
  return session.save();
}

// The distance of one state from another, relative to its size.
double apart(const Literal& a, const Literal& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  double difference = 0, size = 1e-12;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += std::pow(static_cast<double>(x[i]) - y[i], 2);
    size += std::pow(static_cast<double>(x[i]), 2);
  }
  return std::sqrt(difference / size);
}

void expect_like_the_cpu(const Training& run, int replicas, double tolerance) {
  const std::string devices = join("gpu:0*", replicas);
  const StateValues on_gpu = trained(run, devices);
  const StateValues on_cpu = trained(run, join("cpu*", replicas));
  for (const State& state : run.model.states)
    if (is_parameter(state.kind)) {
      EXPECT_LT(apart(on_cpu.at(state.values[0]), on_gpu.at(state.values[0])), tolerance)
          << state.name << ", " << replicas << " replicas";
    }
  EXPECT_TRUE(trained(run, devices) == on_gpu) << "two runs give different bits";
}

// Two replicas on 16 bits differ by no more than each may differ from float32 (`wide`). The limit
// for all parameters together, where errors average out, is lower than the limit for each
// parameter.
enum class Held { together, each_too };
void expect_as_far_as_rounding(const Training& run, const TrainingModel& wide,
                               Held held = Held::each_too) {
  const StateValues on_gpu = trained(run, "gpu:0*2");
  const StateValues on_cpu = trained(run, "cpu*2");
  const StateValues in_full = trained({wide, run.image, run.batch, run.steps}, "cpu*2");
  double between = 0, from_full = 0;
  for (const State& state : run.model.states)
    if (is_parameter(state.kind)) {
      const std::string& name = state.values[0];
      const double here = apart(on_cpu.at(name), on_gpu.at(name));
      const double rounding = apart(in_full.at(name), on_cpu.at(name));
      if (held == Held::each_too) {
        EXPECT_LT(here, 2 * rounding + 1e-3) << name;
      }
      between += here * here;
      from_full += rounding * rounding;
    }
  EXPECT_LT(std::sqrt(between), 1.5 * std::sqrt(from_full) + 1e-3);
}

// 1, 2 and 8 replicas on one GPU match the CPU, and repeat their results in another run.
TEST_F(Gpu, ReplicasTrainLikeTheCpu) {
  for (int replicas : {1, 2, 8}) {
    const TrainingModel model = small_mlp(replicas);
    const Training run{model, {1, 6, 6}};
    expect_like_the_cpu(run, replicas, 1e-4);
    const StateValues on_gpu = trained(run, join("gpu:0*", replicas));
    const StateValues on_cpu = trained(run, join("cpu*", replicas));
    expect_close(on_cpu, on_gpu, model);
    const auto ours = on_gpu.at("cpu_0/fc1_w").values<float>();
    const auto theirs = on_cpu.at("cpu_0/fc1_w").values<float>();
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(theirs[i], ours[i], 1e-4) << i;
  }
}

TEST_F(Gpu, OptimisersTrainLikeTheCpu) {
  for (const Optimizer& optimizer :
       {Optimizer(Adam{.epsilon = 1e-3F}), Optimizer(AdamW{.epsilon = 1e-3F}),
        Optimizer(RmsProp{.momentum = 0.5F, .epsilon = 1e-3F}),
        Optimizer(RmsProp{.epsilon = 1e-3F, .centred = true}),
        Optimizer(Adagrad{.rate_decay = 0.1F, .epsilon = 1e-3F}), Optimizer(Lars{.trust = 0.1F})})
    for (const bool skips : {false, true}) {
      const TrainingModel model = small_mlp(2, optimizer, {.skip_non_finite = skips});
      expect_like_the_cpu({model, {1, 6, 6}}, 2, 1e-3);
    }
}

TEST_F(Gpu, LeNetTrainsLikeTheCpu) {
  for (int replicas : {1, 2, 8}) {
    const TrainingModel model = small_lenet(replicas);
    expect_like_the_cpu({model, {1, 28, 28}}, replicas, 1e-3);
  }
}

// After a step the GPU's parameters match the CPU's within the tolerance of 16 bits. Later,
// training amplifies the rounding of both.
TEST_F(Gpu, LeNetTrainsLikeTheCpuOn16Bits) {
  auto lenet = [](DType precision) {
    return build_data_parallel_model(all_ops(), model_named("lenet", published_options("lenet")),
                                     MomentumSgd{},
                                     {.replicas = 2, .scope = "cpu", .precision = precision});
  };
  const TrainingModel wide = lenet(DType::float32);
  for (DType precision : {DType::bfloat16, DType::float16}) {
    SCOPED_TRACE(precision);
    const TrainingModel model = lenet(precision);
    expect_like_the_cpu({model, {1, 28, 28}, 16, 1}, 2, 1e-2);
    expect_like_the_cpu({model, {1, 28, 28}, 16, 2}, 2, 2e-2);
    expect_as_far_as_rounding({model, {1, 28, 28}}, wide);
  }
}

// Convolutions that compute sums, batch norms that read the sums, and all other fused nodes.
TEST_F(Gpu, ResidualBlocksTrainLikeTheCpu) {
  const TrainingModel wide = small_residual({.replicas = 2});
  expect_like_the_cpu({wide, {1, 6, 6}}, 2, 1e-3);
  for (DType precision : {DType::bfloat16, DType::float16}) {
    SCOPED_TRACE(precision);
    const TrainingModel model = small_residual({.replicas = 2, .precision = precision});
    for (int64_t batch : {16, 32, 64})
      for (int64_t steps : {1, 2, 3}) {
        SCOPED_TRACE(join(batch, " rows, ", steps, " steps"));
        // With few rows a bias is near its float32 value by chance, and far at the next step.
        const bool few = batch == 16 && steps == 3 && precision == DType::bfloat16;
        expect_as_far_as_rounding({model, {1, 6, 6}, batch, steps}, wide,
                                  few ? Held::together : Held::each_too);
      }
  }
}

TEST_F(Gpu, RecurrentLayersTrainLikeTheCpu) {
  for (int replicas : {1, 2}) {
    const TrainingModel model =
        build_data_parallel_model(all_ops(), small_network("recurrent").model, MomentumSgd{},
                                  {.replicas = replicas, .scope = "cpu"});
    expect_like_the_cpu({model, kSmall}, replicas, 1e-4);
  }
}

// The update reads gradients in 16 bits and channels-last if no other node reads them in 32 bits.
// The check for values that are not finite reads all gradients in 32 bits.
TEST_F(Gpu, UpdatesByNarrowGradientsAsByWideOnes) {
  const auto parameters = [](bool checks) {
    const TrainingModel model = small_residual({.replicas = 1,
                                                .rules = {.weight_decay = 0.01F},
                                                .skip_non_finite = checks,
                                                .precision = DType::bfloat16});
    StateValues values = trained({model, {1, 6, 6}, 16, 3}, "gpu:0");
    std::erase_if(values, [&](const auto& value) {
      return std::ranges::none_of(model.states, [&](const State& state) {
        return is_parameter(state.kind) && state.values[0] == value.first;
      });
    });
    return values;
  };
  const StateValues narrow = parameters(false);
  EXPECT_GT(narrow.size(), 10u);
  EXPECT_TRUE(narrow == parameters(true));
}

// An engine that loses a NaN would hide a failed step.
TEST_F(Gpu, NanPassesWhatIsBehindAConvolution) {
  const TrainingModel model = small_residual({.replicas = 1});
  for (const char* devices : {"cpu", "gpu:0"}) {
    Session session(model, parse_devices(devices), all_kernels());
    session.initialise();
    StepFeeds feeds(model, 4, 5, {1, 6, 6});
    const auto batch = feeds.at(0, 0.05F);
    feeds.images()[0] = std::nanf("");
    RunOptions options = session.run_options(0);
    options.blame_feeds = false;
    EXPECT_TRUE(std::isnan(session.step().run(batch, options)[0].as<float>()[0])) << devices;
  }
}

// Float32 has full precision unless a session says otherwise; then it is rounded to 10 bits of
// mantissa.
TEST_F(Gpu, RoundsFloat32OnlyWhenAsked) {
  const TrainingModel model = small_lenet(2);
  const Training exact{model, {1, 28, 28}, 16, 1}, rounded{model, {1, 28, 28}, 16, 1, true};
  expect_like_the_cpu(exact, 2, 1e-5);
  expect_like_the_cpu(rounded, 2, 2e-3);
  EXPECT_FALSE(trained(exact, "gpu:0*2") == trained(rounded, "gpu:0*2"));
}

TEST_F(Gpu, ResNet50TrainsLikeTheCpu) {
  ClassifierOptions options = published_options("resnet50");
  options.classes = 5;
  const TrainingModel model = build_data_parallel_model(
      all_ops(), model_named("resnet50", options), MomentumSgd{}, {.replicas = 1, .scope = "cpu"});
  expect_like_the_cpu({model, {3, 224, 224}, 4, 3}, 1, 1e-2);
}

// Sums by NCCL are as accurate as sums in the order of replicas, which the CPU uses.
TEST_F(Gpu, SeveralTrainAlike) {
  for (const KernelTable& table : all_kernels())
    if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() < 2)
      GTEST_SKIP() << "skipped: one GPU, two are needed";
  for (const char* spec : {"collective", "nccl"}) {
    const TrainingModel model =
        small_mlp(4, MomentumSgd{}, {.all_reduce = {.spec = parse_all_reduce(spec)}});
    const StateValues on_cpu = trained({model, {1, 6, 6}}, "cpu*4");
    for (const char* devices : {"gpu:0*2,gpu:1*2", "gpu:0*3,gpu:1"}) {
      const StateValues on_gpus = trained({model, {1, 6, 6}}, devices);
      for (const State& state : model.states)
        if (is_parameter(state.kind)) {
          EXPECT_LT(apart(on_cpu.at(state.values[0]), on_gpus.at(state.values[0])), 1e-4)
              << spec << " " << devices << " " << state.name;
        }
      EXPECT_TRUE(trained({model, {1, 6, 6}}, devices) == on_gpus)
          << "two runs give different bits";
    }
  }
}

// The bits of the init graph do not depend on the device.
TEST_F(Gpu, FirstValuesAreTheCpus) {
  const TrainingModel model = small_mlp(2);
  Session cpu(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  Session gpu(model, parse_devices("gpu:0*2"), all_kernels(), {1, 1, {}});
  cpu.initialise();
  gpu.initialise();
  EXPECT_TRUE(cpu.save() == gpu.save());
}

}  // namespace
}  // namespace lockstep::testing
