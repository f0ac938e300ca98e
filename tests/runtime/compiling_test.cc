// SPDX-License-Identifier: Apache-2.0
// No code is compiled within a step. If memory for code runs out, an error comes before the first
// step. Libraries keep their code, so each test needs a separate process, as ctest provides.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"

extern "C" {
int dnnl_sgemm(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
               int64_t ldc);
}

namespace lockstep::testing {
namespace {

// The number of bytes of code that libraries have compiled.
int64_t compiled_bytes() {
  std::ifstream maps("/proc/self/maps");
  int64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, file;
    int64_t inode = 0;
    fields >> range >> rights >> offset >> device >> inode >> file;
    if (rights.find('x') == rights.npos || inode != 0 || !file.empty()) continue;
    const std::size_t dash = range.find('-');
    bytes += std::stoll(range.substr(dash + 1), nullptr, 16) -
             std::stoll(range.substr(0, dash), nullptr, 16);
  }
  return bytes;
}

// For any size of a product: if memory runs out, an error comes before the first step.
TEST(Compiling, AProductIsWholeWhenItsKernelIsPrepared) {
  const TrainingModel model = small_mlp(1);
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  StepFeeds feeds(model, 8, 5, {1, 6, 6});
  session.initialise();
  plan_of(session.step(), feeds.at(0, 0.1F));
  const int64_t before = compiled_bytes();
  EXPECT_GT(before, 0);
  const std::vector<float> a(1 << 18), b(1 << 18);
  std::vector<float> c(1 << 18);
  for (const Dims& sizes : {Dims{1, 1, 1},
                            {2, 2, 2},
                            {16, 10, 500},
                            {64, 500, 400},
                            {300, 300, 300},
                            {1, 512, 512},
                            {512, 1, 512},
                            {512, 512, 1},
                            {32, 512, 500}})
    for (const bool left : {false, true})
      for (const bool right : {false, true})
        for (const float beta : {0.F, 1.F, 0.5F}) {
          const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
          dnnl_sgemm(left ? 'T' : 'N', right ? 'T' : 'N', m, n, k, 1, a.data(), left ? m : k,
                     b.data(), right ? k : n, beta, c.data(), n);
          ASSERT_EQ(compiled_bytes(), before) << m << " x " << n << " x " << k;
        }
}

void expect_nothing_compiled(const TrainingModel& model, const Dims& image, int64_t classes,
                             int threads = 1) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {1, threads, {}});
  session.initialise();
  StepFeeds feeds(model, 8, classes, image);
  plan_of(session.step(), feeds.at(0, 0.1F));
  const int64_t before = compiled_bytes();
  session.step().run(feeds.at(0, 0.1F), session.run_options(0));
  EXPECT_EQ(compiled_bytes(), before);
}

TrainingModel small(const ModelFn& network, DType precision = DType::float32) {
  return build_data_parallel_model(all_ops(), network, MomentumSgd{},
                                   {.scope = "cpu", .precision = precision});
}

// Without a layer that would also prepare products for the convolutions. The gradient of the data
// is the second convolution's.
ModelFn grouped(int64_t groups, int64_t channels) {
  return [=](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", channels, 8, 8}});
    for (const char* name : {"conv1", "conv2"})
      x = conv_layer(net, x, channels, {.pad = 1, .group = groups}, name);
    classify(net, flatten(net.graph, global_average_pool(net.graph, x, "mean"), 1, "scores"));
  };
}

// A picture's rows are time steps.
void recurrent(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
  x = reshape(net.graph, x, {0, 6, 6}, "rows");
  x = lstm_layer(net, x, 5, {.batch_first = true}, "lstm").last_h[0];
  classify(net, reshape(net.graph, x, {-1, 5}, "scores"));
}

TEST(Compiling, AStepOfLenetCompilesNothing) {
  expect_nothing_compiled(small_lenet(2), {1, 28, 28}, 10);
}

TEST(Compiling, AStepOfTwoThreadsCompilesNothing) {
  expect_nothing_compiled(small_lenet(1), {1, 28, 28}, 10, 2);
}

TEST(Compiling, AStepOfAnMlpCompilesNothing) {
  expect_nothing_compiled(small_mlp(2), {1, 6, 6}, 5);
}

TEST(Compiling, AStepOfResidualBlocksCompilesNothing) {
  expect_nothing_compiled(small_residual({.replicas = 2}), {1, 6, 6}, 5);
}

TEST(Compiling, AStepInBfloat16CompilesNothing) {
  expect_nothing_compiled(small_residual({.precision = DType::bfloat16}), {1, 6, 6}, 5);
}

TEST(Compiling, AStepOfARecurrentNetworkCompilesNothing) {
  expect_nothing_compiled(small(recurrent), {1, 6, 6}, 5);
}

TEST(Compiling, AStepOfConvolutionsOfManyGroupsCompilesNothing) {
  expect_nothing_compiled(small(grouped(32, 64)), {64, 8, 8}, 64);
}

TEST(Compiling, AStepOfConvolutionsOfNarrowGroupsCompilesNothing) {
  expect_nothing_compiled(small(grouped(3, 12)), {12, 8, 8}, 12);
}

TEST(Compiling, AStepOfGroupsInBfloat16CompilesNothing) {
  expect_nothing_compiled(small(grouped(32, 64), DType::bfloat16), {64, 8, 8}, 64);
}

}  // namespace
}  // namespace lockstep::testing
