// SPDX-License-Identifier: Apache-2.0
// The loss of the whole batch, as a metric: equals the loss of one replica with all rows.
#include <cmath>
#include <mutex>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "tests/builders/whole_loss_steps.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

using namespace whole_losses_of_steps;

bool draws(const SmallNetwork& network) {
  return network.name == "dropout" || network.name == "random";
}

TEST(WholeLoss, IsThatOfOneReplicaWithTheWholeBatch) {
  for (const SmallNetwork& network : small_networks()) {
    if (draws(network)) continue;
    for (int replicas = 1; replicas <= 4; ++replicas)
      for (int parts : {1, 2}) {
        DataParallelOptions options = network.options;
        options.micro_batches = parts;
        const int64_t batch = options.weighted ? 19 : 24;
        for (const Losses& losses : losses_of(network.model, options, replicas, batch))
          EXPECT_NEAR(losses.whole, losses.of_one, 2e-6 * std::max(1.0F, losses.of_one))
              << network.name << " on " << replicas << " in " << parts << " parts";
      }
  }
}

// The mean over the counted labels of a share.
void ignoring(Net& net) {
  const Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
  const Value scores = fc_layer(net, x, 5, {}, "pred");
  if (!net.training()) return net.output("prob", softmax(net.graph, scores, -1, "prob"));
  const Value label = net.input("label", {DType::int64, {"N"}});
  net.loss("loss", softmax_cross_entropy(net.graph, scores, label, none,
                                         {.reduction = "mean", .ignores = true, .ignore_index = 2},
                                         "loss"));
}

TEST(WholeLoss, IsTheMeanOfTheSharesUnlessTheyDivideByTheirOwnCounts) {
  for (const char* name : {"plain", "two_losses", "shared_weight", "padded"})
    for (const Losses& losses : losses_of(small_network(name).model, {}, 3, 24))
      EXPECT_NEAR(losses.whole, losses.shared, 2e-6 * std::max(1.0F, losses.shared)) << name;
  for (const auto& [name, network] :
       {std::pair{"batch_norm", small_network("batch_norm").model}, {"ignoring", ignoring}})
    for (const Losses& losses : losses_of(network, {}, 3, 24)) {
      EXPECT_NEAR(losses.whole, losses.of_one, 2e-6 * std::max(1.0F, losses.of_one)) << name;
      EXPECT_GT(std::abs(losses.whole - losses.shared), 1e-4) << name;
    }
  // Synchronised batch norms use the statistics of the whole batch.
  for (const Losses& losses :
       losses_of(small_network("batch_norm").model, {.synchronised_batch_norm = true}, 3, 24))
    EXPECT_NEAR(losses.whole, losses.shared, 1e-5);
}

TEST(WholeLoss, GoesWithOtherPrecisionsPoliciesAndDevices) {
  const ModelFn& network = small_network("batch_norm").model;
  for (DType precision : {DType::bfloat16, DType::float16})
    for (const Losses& losses : losses_of(network, {.precision = precision}, 2, 24))
      EXPECT_NEAR(losses.whole, losses.of_one, 0.02) << name_of(precision);
  for (StatisticsPolicy policy : {StatisticsPolicy::in_turn, StatisticsPolicy::first})
    for (const Losses& losses : losses_of(network, {.statistics = policy}, 2, 24))
      EXPECT_NEAR(losses.whole, losses.of_one, 1e-5) << text_of(policy);
  for (const Losses& losses :
       losses_of(network, {.deferred = true, .skip_non_finite = true}, 2, 24))
    EXPECT_NEAR(losses.whole, losses.of_one, 1e-5);
  for (const char* spec : {"xring", "mean:collective", "pscpu"}) {
    DataParallelOptions options;
    options.all_reduce.spec = parse_all_reduce(spec);
    for (const Losses& losses : losses_of(network, options, 2, 24))
      EXPECT_NEAR(losses.whole, losses.of_one, 1e-5) << spec;
  }
  for (const Losses& losses : losses_of(network, {}, 2, 24, true))
    EXPECT_NEAR(losses.whole, losses.of_one, 1e-5) << "asynchronous devices";
}

TEST(WholeLoss, SomeSharesMayBeEmpty) {
  const SmallNetwork& network = small_network("unequal_shares");
  for (const Losses& losses : losses_of(network.model, network.options, 4, 3))
    EXPECT_NEAR(losses.whole, losses.of_one, 1e-5);
}

TEST(WholeLoss, TrainsTheSameBits) {
  for (const SmallNetwork& network : small_networks())
    for (int replicas : {1, 3})
      for (int parts : {1, 2}) {
        DataParallelOptions options = network.options;
        options.micro_batches = parts;
        const TrainingModel with = built(network.model, options, replicas),
                            without = built(network.model, options, replicas, false);
        EXPECT_TRUE(train(with, 18, 3, kSmall) == train(without, 18, 3, kSmall))
            << network.name << " on " << replicas << " in " << parts << " parts";
      }
}

TEST(WholeLoss, IsTheSameOverProcesses) {
  for (const char* name :
       {"batch_norm", "dropout", "random", "padded", "synchronised", "integer_input"})
    for (int parts : {1, 2}) {
      const SmallNetwork& network = small_network(name);
      DataParallelOptions options = network.options;
      options.micro_batches = parts;
      const TrainingModel whole = built(network.model, options, 4);
      const int64_t batch = 24;
      const auto run = [&](const TrainingModel& part, Comm* comm) {
        Session session(part, cpu_devices(part.replicas), all_kernels(), {5, 1, {}, comm});
        session.initialise();
        StepFeeds feeds(part, batch, kClasses, kSmall, whole.replicas);
        return whole_losses(part, session.step().run(feeds.at(1, 0.05F), session.run_options(1)));
      };
      const float expected = run(whole, nullptr)[0];
      for (int processes : {2, 3}) {
        std::mutex mutex;
        int seen = 0;
        run_ranks(processes, [&](Comm& comm) {
          const TrainingModel part = partition(whole, {comm.rank(), processes});
          const std::vector<float> values = run(part, &comm);
          const std::lock_guard lock(mutex);
          for (const float value : values) {
            EXPECT_EQ(value, expected) << name << " over " << processes;
            ++seen;
          }
        });
        EXPECT_EQ(seen, 4);
      }
    }
}

}  // namespace
}  // namespace lockstep::testing
