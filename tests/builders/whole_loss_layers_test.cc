// SPDX-License-Identifier: Apache-2.0
// The loss of the whole batch: random layers, resident batches, scalars, and refusals.
#include <cmath>
#include <set>

#include "graph/random_stream.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/resident.h"
#include "tests/builders/whole_loss_steps.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using namespace whole_losses_of_steps;

TEST(WholeLoss, RandomLayersDrawTheirOwnStreams) {
  const TrainingModel model = built(small_network("dropout").model, {.micro_batches = 2}, 2);
  std::set<int64_t> streams;
  int nodes = 0, whole = 0;
  for (int i = 0; i < model.step.node_count(); ++i) {
    const Node node = model.step.node(i);
    if (node.type() != "Dropout") continue;
    ++nodes;
    whole += node.name().find("whole/") != std::string::npos;
    streams.insert(random_stream_of(node));
  }
  EXPECT_EQ(nodes, 2 * 2 * 2 + 2);
  EXPECT_EQ(whole, 2) << "on replica 0 alone";
  EXPECT_EQ(streams.size(), static_cast<std::size_t>(nodes));
  // A single replica drops other elements in its training loss.
  for (const Losses& losses : losses_of(small_network("dropout").model, {}, 1, 24)) {
    EXPECT_NE(losses.whole, losses.of_one);
    EXPECT_NEAR(losses.whole, losses.of_one, 0.7);
  }
}

TEST(WholeLoss, OfTheForwardPassAloneUsesRunningStatistics) {
  const ModelFn& network = small_network("batch_norm").model;
  const TrainingModel model = built(network, {.micro_batches = 2, .forward_only = true}, 3);
  Session session(model, cpu_devices(3), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, kClasses, kSmall);
  const auto fetched = session.step().run(feeds.at(0, 0), session.run_options(0));
  EXPECT_NEAR(whole_losses(model, fetched)[2], Results(model, fetched).loss(), 2e-6);
}

TEST(WholeLoss, JoinsTheMinibatchesOfAResidentBatch) {
  const ModelFn& network = small_network("batch_norm").model;
  const TrainingModel model = built(
      network, {.resident = {.rows = {"data", "label"}, .limits = {.minibatch = 4, .capacity = 8}}},
      2);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  const TrainingModel one = built(network, {}, 1, false);
  StepFeeds source(one, 16, kClasses, kSmall);
  const auto rows = source.at(1, 0);
  ResidentBatch batch(session);
  batch.feeds().set(Role::rate, 0.05F);
  const auto load = batch.load({{"data", rows[0]}, {"label", rows[1]}});
  ASSERT_EQ(load.minibatch, 4);
  const Results answers = batch.optimize(4, 0);
  // Replica 0's rows 4 to 7 of its 8, then replica 1's.
  std::vector<float> images;
  std::vector<int64_t> labels;
  for (const int64_t first : {4, 12}) {
    images.insert(images.end(), rows[0].as<float>() + first * 36,
                  rows[0].as<float>() + (first + 4) * 36);
    labels.insert(labels.end(), rows[1].as<int64_t>() + first, rows[1].as<int64_t>() + first + 4);
  }
  Session alone(one, cpu_devices(1), all_kernels(), {5, 1, {}});
  alone.initialise();
  Feeds feeds(one);
  feeds.set("data", {{DType::float32, {8, 1, 6, 6}}, images.data()});
  feeds.set("label", {{DType::int64, {8}}, labels.data()});
  feeds.set(Role::rate, 0.05F);
  EXPECT_NEAR(*answers.metric_of_each(kWholeLoss)[1].as<float>(), alone.run_step(feeds, 0).loss(),
              2e-6);
}

// A scalar is the same for all rows.
TEST(WholeLoss, TakesScalarsAsTheyAre) {
  const ModelFn network = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 4}});
    const Value warmth = net.input("warmth", {DType::float32, {}});
    classify(net, mul(net.graph, fc_layer(net, x, 3, {}, "pred"), warmth, "scores"));
  };
  const TrainingModel model = built(network, {.micro_batches = 2}, 2);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  std::vector<float> rows(32);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 7) - 3;
  std::vector<int64_t> labels{0, 1, 2, 0, 1, 2, 2, 1};
  float warmth = 0.5F;
  Feeds feeds(model);
  feeds.set("data", {{DType::float32, {8, 4}}, rows.data()});
  feeds.set("label", {{DType::int64, {8}}, labels.data()});
  feeds.set("warmth", {{DType::float32, {}}, &warmth});
  feeds.set(Role::rate, 0);
  const Results answers = session.run_step(feeds, 0);
  EXPECT_NEAR(answers.metric(kWholeLoss), answers.loss(), 2e-6);
}

TEST(WholeLoss, RefusesByNameWhatItCannotJoin) {
  const auto fixed = [](Net& net) {
    classify(net, fc_layer(net, net.input("data", {DType::float32, {4, 9}}), 3, {}, "pred"));
  };
  expect_error([&] { built(fixed, {}, 2); }, "whole_loss (TRAIN.WHOLE_LOSS)", "the input 'data'",
               "[4,9]");
  const auto named = [](Net& net) {
    small_network("plain").model(net);
    if (net.training()) net.metric(kWholeLoss, net.graph.at("accuracy"));
  };
  expect_error([&] { built(named, {}, 2); }, "whole_loss", "a metric of that name");
  const auto without = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 4}});
    net.output("scores", fc_layer(net, x, 3, {}, "pred"));
  };
  expect_error([&] { built(without, {.forward_only = true}, 2); }, "whole_loss", "no loss",
               "declare one by Net::loss(), or leave whole_loss out");
  const TrainingModel unequal = built(small_network("plain").model, {.weighted = true}, 4);
  expect_error(
      [&] {
        partition(unequal, {1, 2});
      },
      "whole_loss (TRAIN.WHOLE_LOSS)", "different numbers of rows", "TRAIN.BATCH_SIZE");
}

}  // namespace
}  // namespace lockstep::testing
