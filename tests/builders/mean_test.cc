// SPDX-License-Identifier: Apache-2.0
// `mean:` before a spec divides the result by the number of replicas, but not the losses.
#include <gtest/gtest.h>

#include "builders/all_reduce/all_reduce.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

// A tensor is divided once, for every way to pack, cut and round it.
TEST(Mean, OfABucketIsThatOfItsTensors) {
  for (const char* spec : {"mean:collective", "mean:xring", "mean:psgpu#2", "mean:trivial"})
    for (const AllReduceOptions& how :
         {AllReduceOptions{}, AllReduceOptions{.packing = parse_packing("ready:1k:1M")},
          AllReduceOptions{.packing = parse_packing("ready:1k:1M"), .pieces = 3},
          AllReduceOptions{.wire = DType::float16}}) {
      SCOPED_TRACE(spec);
      AllReduceOptions options = how;
      options.spec = parse_all_reduce(spec);
      const SumGraph means = sum_graph(options, 4, {{2, 3}, {2, 3}});
      EXPECT_EQ(means.sums[7], "cpu_3/w1_grad_mean");
      // Replica k has k + 1, and ten times that number. Every sum of the integers is exact.
      std::vector<std::vector<float>> fed;
      std::vector<Tensor> tensors;
      for (int p = 0; p < 2; ++p)
        for (int k = 0; k < 4; ++k)
          fed.emplace_back(6, static_cast<float>(-(k + 1) * (p ? 10 : 1)));
      for (auto& values : fed) tensors.push_back({{DType::float32, {2, 3}}, values.data()});
      States none({}, {});
      Workers workers(4, 1);
      auto executor = make_executor(compile({.graph = means.graph,
                                             .feeds = means.feeds,
                                             .feed_dims = std::vector<Dims>(8, Dims{2, 3}),
                                             .fetches = means.sums,
                                             .devices = cpu_devices(4),
                                             .kernels = all_kernels()}),
                                    none, workers);
      executor->run(tensors, {});
      std::size_t next = 0;
      for (const Tensor& tensor : executor->fetches()) {
        const int k = static_cast<int>(next % 4), p = static_cast<int>(next / 4);
        ++next;
        const bool own = std::string(spec) == "mean:trivial";
        const float expected = (own ? static_cast<float>(k + 1) / 4 : 2.5F) * (p ? 10.F : 1.F);
        for (int i = 0; i < 6; ++i) ASSERT_EQ(tensor.as<float>()[i], expected) << k << " " << p;
      }
    }
}

DataParallelOptions reduced_by(const std::string& spec, DataParallelOptions options = {}) {
  options.all_reduce.spec = parse_all_reduce(spec);
  return options;
}

// Five steps with a mean give the weights of five steps with a sum. Four is a power of two, so
// narrowed values have equal roundings as well.
void expect_same_training(const std::string& spec, const DataParallelOptions& options = {}) {
  SCOPED_TRACE(spec);
  TrainingModel sum = small_mlp(4, MomentumSgd{}, reduced_by(spec, options));
  const TrainingModel mean = small_mlp(4, MomentumSgd{}, reduced_by("mean:" + spec, options));
  const StateValues expected = train(sum, 24, 5, kSmall), found = train(mean, 24, 5, kSmall);
  // Deferred gradients are not reduced yet. Gradients for a mean are four times as large.
  std::erase_if(sum.states, [](const State& state) { return state.kind == StateKind::deferred; });
  expect_close(expected, found, sum);
}

TEST(Mean, TrainsAsASumDoes) {
  DataParallelOptions packed, narrow, both;
  packed.all_reduce.packing = parse_packing("ready:1k:4k");
  narrow.all_reduce.wire = DType::bfloat16;
  both.all_reduce = {.packing = packed.all_reduce.packing, .pieces = 3, .wire = DType::float16};
  for (const char* spec : {"collective", "nccl", "xring#2", "rechd", "bcube", "psgpu#3", "simple",
                           "muji", "hierarchical_copy", "pscpu/xring", "nccl/rechd", "collective#2",
                           "auto", "simple:100:xring"})
    for (const DataParallelOptions& options : {DataParallelOptions{}, packed, narrow, both})
      expect_same_training(spec, options);
  expect_close(train(small_mlp(1), 24, 5, kSmall),
               train(small_mlp(3, MomentumSgd{}, reduced_by("mean:xring")), 24, 5, kSmall),
               small_mlp(1));
  expect_close(train(small_mlp(1), 24, 5, kSmall),
               train(small_mlp(1, MomentumSgd{}, reduced_by("mean:xring")), 24, 5, kSmall),
               small_mlp(1));
}

TEST(Mean, GoesWithEveryOtherOption) {
  expect_same_training("xring", {.micro_batches = 3});
  expect_same_training("xring", {.deferred = true});
  expect_same_training("collective", {.skip_non_finite = true});
  expect_same_training("rechd", {.clip = {.norm = 0.05F}});
  expect_same_training("rechd", {.clip = {.value = 0.01F}});
  expect_same_training("xring", {.clip = {.norm = 0.05F, .before_reduce = true}});
  expect_same_training("xring", {.clip = {.value = 0.01F, .before_reduce = true}});
  expect_same_training("xring", {.precision = DType::bfloat16});
  const DataParallelOptions synchronised{.replicas = 4, .synchronised_batch_norm = true};
  const TrainingModel sum = small_residual(synchronised);
  expect_close(train(sum, 16, 2, kSmall),
               train(small_residual(reduced_by("mean:xring", synchronised)), 16, 2, kSmall), sum);
}

// The reported value is each replica's share of the loss, regardless of the differentiated value.
TEST(Mean, ReportedLossesAddUpToTheLoss) {
  auto loss_of = [](const std::string& spec, int parts) {
    const TrainingModel model =
        small_mlp(4, MomentumSgd{}, reduced_by(spec, {.micro_batches = parts}));
    Session session(model, cpu_devices(4), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 24, 5, kSmall);
    const auto fetched = session.step().run(feeds.at(0, 0.05F), session.run_options(0));
    float total = 0;
    for (std::size_t k = 0; k < 4; ++k) total += *fetched[k].as<float>();
    return total;
  };
  for (int parts : {1, 3}) {
    EXPECT_GT(loss_of("xring", parts), 1);
    EXPECT_NEAR(loss_of("mean:xring", parts), loss_of("xring", parts), 1e-5);
  }
}

TEST(Mean, NeedsEqualShares) {
  expect_error([] { small_mlp(2, MomentumSgd{}, reduced_by("mean:xring", {.weighted = true})); },
               "all-reduce spec 'mean:xring'", "needs equal shares", "weighted");
}

}  // namespace
}  // namespace lockstep::testing
