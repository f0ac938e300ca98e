// SPDX-License-Identifier: Apache-2.0
// Compares a step's operations with published counts, and measures the rates of a machine.
#include "tools/bench/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"
#include "tests/support/queued_cpu.h"
#include "tools/bench/networks.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kBatch = 2;

Plan plan_of_step(const std::string& network) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), bench_network(network, false).make, MomentumSgd{},
                                {.replicas = 1, .scope = "cpu"});
  return compile(step_request(
      model,
      [&](const std::string& feed) {
        Shape shape = model.step.shape(model.step.at(feed));
        if (!shape[0].known()) shape[0] = kBatch;
        return to_dims(shape);
      },
      cpu_devices(1), all_kernels()));
}

// The multiplications per example, in millions.
double operations_of_example(const Plan& plan) {
  double total = 0;
  for (const PlanStep& step : plan.steps) total += step.flops.products;
  return total / 2 / kBatch / 1e6;
}

// torchvision's documentation counts the forward pass. Both gradients need the same number, but the
// first convolution has no gradient for the images.
TEST(Roofline, CountsTheOperationsOfPublishedNetworks) {
  struct Published {
    const char* network;
    double forward, first;
  };
  for (const Published& published :
       {Published{"resnet18", 1814, 118.0}, Published{"resnet50", 4089, 118.0},
        Published{"vgg16", 15470, 86.7}, Published{"mobilenet_v2", 301, 10.8}}) {
    const double expected = 3 * published.forward - published.first;
    EXPECT_NEAR(operations_of_example(plan_of_step(published.network)), expected, 0.005 * expected)
        << published.network;
  }
}

TEST(Roofline, CountsTheOperationsOfRecurrentLayers) {
  constexpr double kProduct = 4 * 512 * 512 * 64 / 1e6;  // of x or h with four gates, by 64 steps
  constexpr double kHead = 3 * 512 * 10 / 1e6;
  EXPECT_NEAR(operations_of_example(plan_of_step("lstm")), (3 * 4 - 1) * kProduct + kHead, 1e-6);
}

TEST(Roofline, TakesTheSlowerOfProductsAndMemory) {
  const Plan plan = plan_of_step("lenet");
  const MachineRates slow_memory{.operations = 1e15, .bytes = 1e9},
      slow_products{.operations = 1e9, .bytes = 1e15};
  for (const PlanStep& step : plan.steps) {
    EXPECT_DOUBLE_EQ(least_seconds(plan, step, slow_memory),
                     static_cast<double>(bytes_of_tensors(plan, step)) / 1e9);
    if (step.flops.products > 0) {
      EXPECT_DOUBLE_EQ(least_seconds(plan, step, slow_products), step.flops.products / 1e9);
    }
  }
}

// A GPU's memory is separate; the host cannot read its tensors.
TEST(Roofline, MeasuresRatesOfEachDeviceAndPrecision) {
  const auto measured = [](DeviceKind kind, DType dtype) {
    return kind == DeviceKind::cpu
               ? measure_rates({kind, 0}, dtype, rate_sizes(kind), all_kernels(), {.threads = 2})
               : measure_rates({kind, 0}, dtype, {256, 1 << 16}, queued_kernels(), {.threads = 2});
  };
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu})
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      SCOPED_TRACE(join(Device{kind, 0}, " in ", dtype));
      const MachineRates rates = measured(kind, dtype);
      EXPECT_TRUE(std::isfinite(rates.operations) && rates.operations > 1e9) << rates.operations;
      EXPECT_TRUE(std::isfinite(rates.bytes) && rates.bytes > 1e8) << rates.bytes;
    }
}

}  // namespace
}  // namespace lockstep::testing
